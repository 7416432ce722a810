package cli_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
	"github.com/hosted-control-planes/hypershift/config/iam"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/iamrole"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/operatorroles"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

func createBucket(name string, more ...string) []string {
	return append([]string{"create", "oidc-bucket", "aws", "--name", name}, more...)
}

func destroyBucket(name string, more ...string) []string {
	return append([]string{"destroy", "oidc-bucket", "aws", "--name", name, "--yes"}, more...)
}

func createOperatorRoles(issuer, bucket string, more ...string) []string {
	return append([]string{"create", "operator-roles", "aws", "--oidc-issuer-url", issuer, "--oidc-storage-provider-s3-bucket-name", bucket,
		"--route53-hosted-zone-id", "Z0123456789", "--external-dns-domain", domain}, more...)
}

func destroyOperatorRoles(more ...string) []string {
	return append([]string{"destroy", "operator-roles", "aws", "--yes"}, more...)
}

// issuer is the issuer of a management cluster that IAM knows.
func (u *user) issuer() string {
	u.t.Helper()
	issuer := "https://oidc.eks.us-east-1.amazonaws.com/id/" + u.account
	u.try(emulator.Given(u.t.Context(), u.account, func() error {
		_, err := awsiam.NewFromConfig(emulator.Config(u.account)).CreateOpenIDConnectProvider(u.t.Context(), &awsiam.CreateOpenIDConnectProviderInput{
			Url: aws.String(issuer), ClientIDList: []string{"sts.amazonaws.com"}, ThumbprintList: []string{strings.Repeat("a", 40)},
		})
		return err
	}))
	return issuer
}

func TestManagementAccountIsCreatedUnchangedByASecondRunAndDeleted(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	bucket, issuer := "documents-"+u.account, u.issuer()
	u.must(createBucket(bucket)...)
	u.must(createOperatorRoles(issuer, bucket)...)
	var values operatorroles.Output
	u.try(json.Unmarshal(u.out.Bytes(), &values))
	if want := "arn:aws:iam::" + u.account + ":role/hypershift-operator"; values.AWS.RoleARN != want || values.OIDC.Bucket != bucket || values.ExternalDNS == nil {
		t.Errorf("values %+v", values)
	}

	i := awsiam.NewFromConfig(emulator.Config(u.account))
	for role, c := range map[string]struct{ account, file string }{
		"hypershift-operator":     {"hypershift-operator", iam.HypershiftOperator},
		"hypershift-external-dns": {"external-dns", iam.ExternalDNS},
	} {
		is, err := i.GetRole(t.Context(), &awsiam.GetRoleInput{RoleName: aws.String(role)})
		u.try(err)
		if trust := aws.ToString(is.Role.AssumeRolePolicyDocument); !strings.Contains(trust, "system%3Aserviceaccount%3Ahypershift%3A"+c.account+"%22") {
			t.Errorf("%s trusts %s", role, trust)
		}
		want, err := iamrole.Fill(c.file, "aws", map[string]string{"OIDC_BUCKET": bucket, "PUBLIC_ZONE_ID": "Z0123456789"})
		u.try(err)
		policy, err := i.GetRolePolicy(t.Context(), &awsiam.GetRolePolicyInput{RoleName: aws.String(role), PolicyName: aws.String(role)})
		u.try(err)
		if got := decode(t, aws.ToString(policy.PolicyDocument)); iamrole.Normalize(got) != want {
			t.Errorf("the policy of %s is %s", role, got)
		}
	}

	// Everybody can read a document.
	s := s3.NewFromConfig(emulator.Config(u.account))
	_, err := s.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String("demo/keys.json"), Body: strings.NewReader("{}")})
	u.try(err)
	answer, err := http.Get(emulator.URL + "/" + bucket + "/demo/keys.json")
	u.try(err)
	u.try(answer.Body.Close())
	if answer.StatusCode != http.StatusOK {
		t.Errorf("a document without credentials: %s", answer.Status)
	}

	for _, args := range [][]string{createBucket(bucket), createOperatorRoles(issuer, bucket)} {
		u.must(args...)
		if len(u.writes) > 0 {
			t.Errorf("%s has written: %v", args[1], u.writes)
		}
	}
	u.changeManagement(bucket)
	for _, args := range [][]string{createBucket(bucket, "--plan"), createOperatorRoles(issuer, bucket, "--plan")} {
		if code := u.run(args...); code != cli.Changes || len(u.writes) > 0 {
			t.Errorf("%s: exit code %d, writes %v", args[1], code, u.writes)
		}
	}
	u.must(createBucket(bucket)...)
	u.must(createOperatorRoles(issuer, bucket)...)
	tags, err := s.GetBucketTagging(t.Context(), &s3.GetBucketTaggingInput{Bucket: aws.String(bucket)})
	u.try(err)
	if len(tags.TagSet) != 3 { // two of ours, and one of the user
		t.Errorf("tags %v", tags.TagSet)
	}

	if code := u.run(destroyBucket(bucket)...); code != cli.Remaining || !strings.Contains(u.err.String(), "documents of hosted clusters, such as demo/keys.json") {
		t.Errorf("a bucket with documents: exit code %d\n%s", code, u.err.String())
	}
	_, err = s.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: aws.String("demo/keys.json")})
	u.try(err)
	u.must(destroyOperatorRoles()...)
	u.must(destroyBucket(bucket)...)
	if left := u.owned(); len(left) > 0 {
		t.Errorf("left: %s", strings.Join(left, "\n"))
	}
	u.must(destroyBucket(bucket)...)
}

func TestManagementResourcesOfOthersAreNeitherAdoptedNorDeleted(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	bucket, other := "documents-"+u.account, "documents-other-"+u.account
	create := func(account, name string) {
		_, err := s3.NewFromConfig(emulator.Config(account)).CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(name)})
		u.try(err)
	}
	create(u.account, bucket)
	create(emulator.Account(t), other)
	_, err := emulator.Role(t.Context(), u.account, "hypershift-operator", `{"Version":"2012-10-17","Statement":[]}`)
	u.try(err)
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"a bucket without the tag":         {createBucket(bucket), cli.Failed, "does not carry the tag hypershift.openshift.io/oidc-bucket=owned"},
		"its deletion":                     {destroyBucket(bucket), cli.Remaining, "does not carry the tag"},
		"a bucket of another account":      {createBucket(other), cli.Failed, other},
		"a role without the tag":           {createOperatorRoles(u.issuer(), bucket), cli.Failed, "does not carry the tag hypershift.openshift.io/operator-roles=hypershift"},
		"the deletion of the role":         {destroyOperatorRoles(), cli.Remaining, "does not carry the tag"},
		"an issuer that IAM does not know": {createOperatorRoles("https://example.com/x", bucket, "--name-prefix", "b"), cli.Failed, "eksctl utils associate-iam-oidc-provider"},
		"a name with a dot":                {createBucket("a.b"), cli.Usage, "--name: Invalid value"},
		"a zone without its domain":        {[]string{"create", "operator-roles", "aws", "--oidc-issuer-url", "https://x", "--oidc-storage-provider-s3-bucket-name", "b", "--route53-hosted-zone-id", "Z"}, cli.Usage, "--external-dns-domain: Required value"},
		"roles without a bucket":           {[]string{"create", "operator-roles", "aws", "--oidc-issuer-url", "https://x"}, cli.Usage, "--oidc-storage-provider-s3-bucket-name: Required value"},
	} {
		t.Run(name, func(t *testing.T) {
			if code := u.run(c.args...); code != c.code || !strings.Contains(u.err.String(), c.want) || len(u.writes) > 0 {
				t.Errorf("exit code %d, writes %v\n%s", code, u.writes, u.err.String())
			}
		})
	}
}

// decode returns a policy of IAM, which is in the encoding of URLs.
func decode(t *testing.T, text string) string {
	t.Helper()
	decoded, err := url.PathUnescape(text)
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

// changeManagement changes attributes that create oidc-bucket and create operator-roles repair.
func (u *user) changeManagement(bucket string) {
	u.t.Helper()
	ctx, i, s := u.t.Context(), awsiam.NewFromConfig(emulator.Config(u.account)), s3.NewFromConfig(emulator.Config(u.account))
	role := aws.String("hypershift-operator")
	_, err := i.UpdateAssumeRolePolicy(ctx, &awsiam.UpdateAssumeRolePolicyInput{RoleName: role, PolicyDocument: aws.String(awsemulator.TrustRole("arn:aws:iam::" + u.account + ":root"))})
	u.try(err)
	_, err = i.UntagRole(ctx, &awsiam.UntagRoleInput{RoleName: role, TagKeys: []string{"hypershift.openshift.io/source"}})
	u.try(err)
	_, err = i.DeleteRolePolicy(ctx, &awsiam.DeleteRolePolicyInput{RoleName: aws.String("hypershift-external-dns"), PolicyName: aws.String("hypershift-external-dns")})
	u.try(err)
	_, err = s.PutBucketTagging(ctx, &s3.PutBucketTaggingInput{Bucket: aws.String(bucket), Tagging: &s3types.Tagging{TagSet: []s3types.Tag{
		{Key: aws.String("hypershift.openshift.io/oidc-bucket"), Value: aws.String("owned")}, {Key: aws.String("team"), Value: aws.String("a")},
	}}})
	u.try(err)
	_, err = s.DeletePublicAccessBlock(ctx, &s3.DeletePublicAccessBlockInput{Bucket: aws.String(bucket)})
	u.try(err)
	_, err = s.DeleteBucketPolicy(ctx, &s3.DeleteBucketPolicyInput{Bucket: aws.String(bucket)})
	u.try(err)
}
