package awsemulator_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/tokenminter"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// identity is a hosted cluster's: its key, its documents in the provider's bucket, and
// a customer's account that trusts it.
type identity struct {
	provider *account
	customer *awsemulator.Customer
	bucket   string
	infraID  string
	issuer   string
	private  []byte
	public   []byte
}

func newIdentity(t *testing.T) *identity {
	t.Helper()
	provider := newAccount(t)
	id := &identity{provider: provider, bucket: "oidc-" + provider.id, infraID: "demo-abcde"}
	id.issuer = "https://" + id.bucket + ".s3.us-east-1.amazonaws.com/" + id.infraID
	_, err := emulator.SeedManagement(t.Context(), awsemulator.ManagementOptions{Account: provider.id, Bucket: id.bucket})
	must(t, err)
	id.customer, err = emulator.SeedCustomer(t.Context(), awsemulator.CustomerOptions{
		Account: emulator.Account(t), Name: "demo", InfraID: id.infraID, Issuer: id.issuer,
	})
	must(t, err)
	id.private, id.public, err = webidentity.GenerateKey()
	must(t, err)
	id.publish(t, id.issuer, id.public)
	return id
}

// publish writes the issuer's documents as the hypershift-operator does.
func (id *identity) publish(t *testing.T, issuer string, public []byte) {
	t.Helper()
	discovery, err := webidentity.Discovery(issuer, public)
	must(t, err)
	keys, err := webidentity.JWKS(public)
	must(t, err)
	id.put(t, webidentity.DiscoveryPath, string(discovery))
	id.put(t, webidentity.JWKSPath, string(keys))
}

func (id *identity) put(t *testing.T, path, text string) {
	t.Helper()
	_, err := id.provider.s3.PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: aws.String(id.bucket), Key: aws.String(id.infraID + "/" + path), Body: strings.NewReader(text),
	})
	must(t, err)
}

func (id *identity) token(t *testing.T, key []byte, issuer, subject, audience string, clk clock.PassiveClock) string {
	t.Helper()
	signer, err := webidentity.NewSigner(key, issuer, clk)
	must(t, err)
	token, err := signer.Token(subject, audience, 10*time.Minute)
	must(t, err)
	return token
}

func (id *identity) good(t *testing.T) string {
	t.Helper()
	return id.token(t, id.private, id.issuer, names.ControlPlaneOperatorSubject, names.WebIdentityAudience, clock.RealClock{})
}

func (id *identity) assume(t *testing.T, role, token string) (*sts.AssumeRoleWithWebIdentityOutput, error) {
	t.Helper()
	anonymous := accountWith(t, "", aws.Config{Region: "us-east-1", BaseEndpoint: aws.String(emulator.URL), Credentials: aws.AnonymousCredentials{}})
	return anonymous.sts.AssumeRoleWithWebIdentity(t.Context(), &sts.AssumeRoleWithWebIdentityInput{
		RoleArn: aws.String(role), RoleSessionName: aws.String("control-plane-operator"), WebIdentityToken: aws.String(token),
	})
}

func TestAWebIdentityTokenOpensItsRole(t *testing.T) {
	id := newIdentity(t)
	answer, err := id.assume(t, id.customer.Role, id.good(t))
	must(t, err)
	equal(t, "subject", *answer.SubjectFromWebIdentityToken, names.ControlPlaneOperatorSubject)

	c := answer.Credentials
	config := emulator.Config("")
	config.Credentials = credentials.NewStaticCredentialsProvider(*c.AccessKeyId, *c.SecretAccessKey, *c.SessionToken)
	who, err := sts.NewFromConfig(config).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	must(t, err)
	equal(t, "account", *who.Account, id.customer.Account)
	equal(t, "session", *who.Arn, "arn:aws:sts::"+id.customer.Account+":assumed-role/demo-abcde-control-plane-operator/control-plane-operator")

	// Clusters of earlier versions have RSA keys.
	id = newIdentity(t)
	id.private, id.public, err = webidentity.GenerateRSAKey()
	must(t, err)
	id.publish(t, id.issuer, id.public)
	_, err = id.assume(t, id.customer.Role, id.good(t))
	must(t, err)
}

func TestAWebIdentityTokenIsChecked(t *testing.T) {
	id := newIdentity(t)
	stranger, _, err := webidentity.GenerateKey()
	must(t, err)
	now := clock.RealClock{}
	yesterday := clocktesting.NewFakePassiveClock(time.Now().Add(-24 * time.Hour))
	subject, audience := names.ControlPlaneOperatorSubject, names.WebIdentityAudience
	otherRole, err := emulator.Role(t.Context(), id.customer.Account, "other", awsemulator.TrustRole("arn:aws:iam::"+id.customer.Account+":root"))
	must(t, err)

	for sentence, c := range map[string]struct {
		role, token, want string
	}{
		"as it should be":                       {id.customer.Role, id.good(t), ""},
		"not a token":                           {id.customer.Role, "garbage", "InvalidIdentityToken"},
		"another cluster's key":                 {id.customer.Role, id.token(t, stranger, id.issuer, subject, audience, now), "InvalidIdentityToken"},
		"claims changed after signing":          {id.customer.Role, forge(t, id.token(t, id.private, id.issuer, "system:serviceaccount:default:evil", audience, now), subject), "InvalidIdentityToken"},
		"another issuer":                        {id.customer.Role, id.token(t, id.private, id.issuer+"0", subject, audience, now), "InvalidIdentityToken"},
		"another audience":                      {id.customer.Role, id.token(t, id.private, id.issuer, subject, "sts.amazonaws.com", now), "InvalidIdentityToken"},
		"another service account":               {id.customer.Role, id.token(t, id.private, id.issuer, "system:serviceaccount:default:x", audience, now), "AccessDenied"},
		"expired":                               {id.customer.Role, id.token(t, id.private, id.issuer, subject, audience, yesterday), "ExpiredTokenException"},
		"no such role":                          {id.customer.Role + "0", id.good(t), "AccessDenied"},
		"a role that does not trust the issuer": {otherRole, id.good(t), "AccessDenied"},
		"an account without the provider":       {"arn:aws:iam::999999999999:role/x", id.good(t), "InvalidIdentityToken"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := id.assume(t, c.role, c.token)
			refused(t, err, c.want)
		})
	}
}

// The hosted API server signs a token for every service account that somebody may
// make there, with the key and the issuer of the operators' tokens.
func TestAnAdministratorOfTheHostedClusterCannotTakeOnTheRolesOfItsOperators(t *testing.T) {
	id := newIdentity(t)
	for subject, role := range map[string]string{
		names.ControlPlaneOperatorSubject: id.customer.Role,
		names.CAPIProviderSubject:         id.customer.NodePoolRole,
		names.CloudControllerSubject:      id.customer.CloudControllerRole,
	} {
		t.Run(subject, func(t *testing.T) {
			_, err := id.assume(t, role, id.token(t, id.private, id.issuer, subject, names.WebIdentityAudience, clock.RealClock{}))
			refused(t, err, "")
			minted := names.ServiceAccountSubject(subject)
			if !strings.HasPrefix(minted, "system:serviceaccount:") {
				t.Fatalf("%s stands for %q", subject, minted)
			}
			_, err = id.assume(t, role, id.token(t, id.private, id.issuer, minted, names.WebIdentityAudience, clock.RealClock{}))
			refused(t, err, "AccessDenied")
		})
	}
}

// A role that was made for an earlier version names the service account. The program that a minter serves assumes it all the same.
func TestTheMinterFollowsTheTrustPolicyOfTheRole(t *testing.T) {
	id := newIdentity(t)
	t.Setenv("AWS_ENDPOINT_URL", emulator.URL)
	earlier, err := emulator.Role(t.Context(), id.customer.Account, "earlier", awsemulator.TrustWebIdentity(id.customer.OIDCProvider, names.ServiceAccountSubject(names.CAPIProviderSubject)))
	must(t, err)
	key := filepath.Join(t.TempDir(), "key")
	must(t, os.WriteFile(key, id.private, 0o600))
	for role, want := range map[string]string{
		id.customer.NodePoolRole: names.CAPIProviderSubject,
		earlier:                  names.ServiceAccountSubject(names.CAPIProviderSubject),
	} {
		t.Run(want, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "token")
			minter, err := tokenminter.Parse([]string{
				"--key-file=" + key, "--issuer=" + id.issuer, "--subject=" + names.CAPIProviderSubject, "--token-file=" + file, "--role-arn=" + role, "--region=us-east-1",
			})
			must(t, err)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- minter.Run(ctx) }()
			must(t, waitfor(t, func() bool { _, err := os.Stat(file); return err == nil }))
			stop()
			must(t, <-ended)
			token, err := os.ReadFile(file)
			must(t, err)
			answer, err := id.assume(t, role, string(token))
			must(t, err)
			equal(t, "subject", *answer.SubjectFromWebIdentityToken, want)
		})
	}
}

// waitfor waits for at most ten seconds.
func waitfor(t *testing.T, done func() bool) error {
	t.Helper()
	return wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) { return done(), nil })
}

// forge changes the subject of a token and keeps its signature.
func forge(t *testing.T, token, subject string) string {
	t.Helper()
	parts := strings.Split(token, ".")
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	must(t, err)
	var claims map[string]any
	must(t, json.Unmarshal(text, &claims))
	claims["sub"] = subject
	text, err = json.Marshal(claims)
	must(t, err)
	return parts[0] + "." + base64.RawURLEncoding.EncodeToString(text) + "." + parts[2]
}

func TestTheIssuersDocumentsDecide(t *testing.T) {
	for sentence, c := range map[string]struct {
		spoil func(t *testing.T, id *identity)
		want  string
	}{
		"untouched": {func(*testing.T, *identity) {}, ""},
		"the key set is another cluster's": {func(t *testing.T, id *identity) {
			_, public, err := webidentity.GenerateKey()
			must(t, err)
			id.publish(t, id.issuer, public)
		}, "InvalidIdentityToken"},
		"the discovery document names another issuer": {func(t *testing.T, id *identity) {
			id.publish(t, id.issuer+"0", id.public)
		}, "InvalidIdentityToken"},
		"the discovery document is not JSON": {func(t *testing.T, id *identity) {
			id.put(t, webidentity.DiscoveryPath, "<html>")
		}, "InvalidIdentityToken"},
		"the discovery document is gone": {func(t *testing.T, id *identity) {
			_, err := id.provider.s3.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(id.bucket), Key: aws.String(id.infraID + "/" + webidentity.DiscoveryPath)})
			must(t, err)
		}, "InvalidIdentityToken"},
		"the bucket is not public": {func(t *testing.T, id *identity) {
			_, err := id.provider.s3.DeleteBucketPolicy(t.Context(), &s3.DeleteBucketPolicyInput{Bucket: aws.String(id.bucket)})
			must(t, err)
		}, "InvalidIdentityToken"},
		"the provider is gone": {func(t *testing.T, id *identity) {
			_, err := iam.NewFromConfig(emulator.Config(id.customer.Account)).DeleteOpenIDConnectProvider(t.Context(), &iam.DeleteOpenIDConnectProviderInput{OpenIDConnectProviderArn: aws.String(id.customer.OIDCProvider)})
			must(t, err)
		}, "InvalidIdentityToken"},
	} {
		t.Run(sentence, func(t *testing.T) {
			id := newIdentity(t)
			c.spoil(t, id)
			_, err := id.assume(t, id.customer.Role, id.good(t))
			refused(t, err, c.want)
		})
	}
}

// STS keeps public keys. A key that signs at once after its publication is refused, and a rotation in stages is not noticed.
func TestTokensAreAcceptedInEachStageOfARotation(t *testing.T) {
	id := newIdentity(t)
	must(t, emulator.KeepKeys(t.Context(), id.issuer, time.Hour))
	next, nextPublic, err := webidentity.GenerateKey()
	must(t, err)
	expect := func(stage, old, new string) {
		t.Helper()
		for key, want := range map[string]string{string(id.private): old, string(next): new} {
			_, err := id.assume(t, id.customer.Role, id.token(t, []byte(key), id.issuer, names.ControlPlaneOperatorSubject, names.WebIdentityAudience, clock.RealClock{}))
			t.Log(stage)
			refused(t, err, want)
		}
	}
	expire := func() {
		t.Helper()
		must(t, emulator.KeepKeys(t.Context(), id.issuer, 0))
		_, err := id.assume(t, id.customer.Role, id.good(t))
		t.Log(err) // of a key that was retired
		must(t, emulator.KeepKeys(t.Context(), id.issuer, time.Hour))
	}
	expect("only the old key is published", "", "InvalidIdentityToken")
	id.publish(t, id.issuer, slices.Concat(id.public, nextPublic))
	expect("both are published, and caches have the old one", "", "InvalidIdentityToken")
	expire()
	expect("both are published", "", "")
	id.publish(t, id.issuer, nextPublic)
	expect("the old one is retired, and caches have it", "", "")
	expire()
	expect("the old one is retired", "InvalidIdentityToken", "")
}

func TestAnIssuerMayHaveItsOwnHost(t *testing.T) {
	id := newIdentity(t)
	const issuer = "https://oidc.example.test/demo-abcde"
	other, err := emulator.SeedCustomer(t.Context(), awsemulator.CustomerOptions{Account: emulator.Account(t), Name: "demo", InfraID: id.infraID, Issuer: issuer})
	must(t, err)
	token := id.token(t, id.private, issuer, names.ControlPlaneOperatorSubject, names.WebIdentityAudience, clock.RealClock{})
	id.publish(t, issuer, id.public)
	_, err = id.assume(t, other.Role, token)
	refused(t, err, "InvalidIdentityToken")
	must(t, emulator.MapIssuer(t.Context(), "oidc.example.test", id.bucket))
	_, err = id.assume(t, other.Role, token)
	refused(t, err, "")
}

func TestARoleIsAssumedByWhomItTrusts(t *testing.T) {
	owner, customer := newAccount(t), newAccount(t)
	cpo, err := emulator.Role(t.Context(), customer.id, "cpo", awsemulator.TrustRole("arn:aws:iam::"+customer.id+":root"))
	must(t, err)
	shared, err := emulator.Role(t.Context(), owner.id, "shared-vpc-endpoint", awsemulator.TrustRole(cpo))
	must(t, err)
	try := func(a *account, role string) error {
		_, err := a.sts.AssumeRole(t.Context(), &sts.AssumeRoleInput{RoleArn: aws.String(role), RoleSessionName: aws.String("session")})
		return err
	}

	session := accountWith(t, customer.id, assume(t, customer, cpo))
	refused(t, try(session, shared), "")
	refused(t, try(customer, shared), "AccessDenied")
	refused(t, try(customer, shared+"0"), "AccessDenied")

	who, err := accountWith(t, owner.id, assume(t, session, shared)).sts.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	must(t, err)
	equal(t, "the account of the chained session", *who.Account, owner.id)
}

// The SDK calls the endpoint of its region. Programs with older ones need AWS_STS_REGIONAL_ENDPOINTS=regional.
func TestCredentialsOfTheGlobalEndpointAreRefusedInOtherRegions(t *testing.T) {
	a := newAccount(t)
	role, err := emulator.Role(t.Context(), a.id, "worker", awsemulator.TrustRole("arn:aws:iam::"+a.id+":root"))
	must(t, err)
	global := *a
	global.sts = sts.NewFromConfig(emulator.Config(a.id), func(o *sts.Options) {
		o.HTTPClient = hostClient("sts.amazonaws.com")
	})
	for _, c := range []struct {
		account *account
		region  string
		want    string
	}{{a, "ap-east-1", ""}, {&global, "us-east-1", ""}, {&global, "ap-east-1", "InvalidClientTokenId"}} {
		config := assume(t, c.account, role)
		config.Region = c.region
		_, err := sts.NewFromConfig(config).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
		refused(t, err, c.want)
	}
}

// hostClient sends requests with another host, as a client does that knows an endpoint by its name.
type hostClient string

func (h hostClient) Do(request *http.Request) (*http.Response, error) {
	request.Host = string(h)
	return http.DefaultClient.Do(request)
}

// assume gives the configuration of a role session that a makes.
func assume(t *testing.T, a *account, role string) aws.Config {
	t.Helper()
	answer, err := a.sts.AssumeRole(t.Context(), &sts.AssumeRoleInput{RoleArn: aws.String(role), RoleSessionName: aws.String("test")})
	must(t, err)
	config := emulator.Config("")
	c := answer.Credentials
	config.Credentials = credentials.NewStaticCredentialsProvider(*c.AccessKeyId, *c.SecretAccessKey, *c.SessionToken)
	return config
}
