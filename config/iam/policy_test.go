package iam

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/registrybucket"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/awsresources"
)

// The policies that an administrator gives to the operators allow the calls of the packages that they use, and no others.
func TestPolicies(t *testing.T) {
	for file, want := range map[string][]string{
		HypershiftOperator: hypershiftOperator(),
		// Route 53 calls EC2 for the owner of the VPC.
		ControlPlaneOperator:  called(ControlPlaneOperator, "ec2:DescribeVpcs"),
		SharedVPCControlPlane: called(SharedVPCControlPlane),
		// The user names the zone of a shared VPC, so no call looks for it.
		SharedVPCIngress: without("route53:ListHostedZonesByVPC", called(SharedVPCIngress)),
		SharedVPCRoles:   {"sts:AssumeRole"},
		// The user names the zones.
		Ingress:       {"route53:ChangeResourceRecordSets", "route53:ListResourceRecordSets"},
		ImageRegistry: imageRegistry(),
		// The plugin describes the key, too.
		KMSProvider: called(KMSProvider, "kms:DescribeKey"),
	} {
		if diff := cmp.Diff(want, allowed(t, file)); diff != "" {
			t.Errorf("%s (-called +allowed):\n%s", file, diff)
		}
	}
}

var update = flag.Bool("update", false, "write "+SharedVPCControlPlane)

// The role for the endpoint in a shared VPC has the control-plane-operator's permissions on the resources of that VPC.
// The policy is generated from the other one.
func TestPolicyForSharedVPCIsDerived(t *testing.T) {
	source, err := documents.ReadFile(ControlPlaneOperator)
	if err != nil {
		t.Fatal(err)
	}
	got, err := documents.ReadFile(SharedVPCControlPlane)
	if err != nil {
		t.Fatal(err)
	}
	want := limitedTo(t, string(source), called(SharedVPCControlPlane))
	if *update {
		if err := os.WriteFile(SharedVPCControlPlane, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("run go test ./config/iam -args -update (-want +got):\n%s", diff)
	}
}

var (
	statementText = regexp.MustCompile(`(?ms)^    \{\n.*?^    \}`)
	trailingComma = regexp.MustCompile(`,(\s*\])`)
)

// limitedTo returns the policy with its allowed actions, and without the statements that have none.
func limitedTo(t *testing.T, policy string, allowed []string) string {
	t.Helper()
	var kept []string
	for _, text := range statementText.FindAllString(policy, -1) {
		var s statement
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		left := len(s.Action)
		for _, action := range s.Action {
			if !slices.Contains(allowed, action) {
				text = regexp.MustCompile(`\s*"`+action+`",?`).ReplaceAllString(text, "")
				left--
			}
		}
		if left > 0 {
			kept = append(kept, trailingComma.ReplaceAllString(text, "$1"))
		}
	}
	return "{\n  \"Version\": \"2012-10-17\",\n  \"Statement\": [\n" + strings.Join(kept, ",\n") + "\n  ]\n}\n"
}

// wholesale are the actions that change something and may be done on every resource, with the reason.
var wholesale = map[string]string{
	"kms:CreateGrant":                     "the user chooses the key of a volume; the condition limits it to grants that EC2 asks for on the caller's behalf",
	"kms:Decrypt":                         "the same, by kms:ViaService",
	"kms:GenerateDataKey":                 "the same, for the key of a backup in S3",
	"kms:GenerateDataKeyWithoutPlaintext": "the same",
	"kms:ReEncryptFrom":                   "the same",
	"kms:ReEncryptTo":                     "the same",
}

// unconditional are statements that change something without a condition on tags or on the VPC.
var unconditional = map[string]string{
	"EndpointsInTheClustersVPC":      "the resource is the VPC itself",
	"SecurityGroupsInTheClustersVPC": "the resource is the VPC itself",
	"NewEndpointsInSubnetsOfThatVPC": "ec2:CreateVpcEndpoint knows no key for the VPC of a subnet, and EC2 refuses a subnet of another VPC than the endpoint's",
	"WhatNewInstancesAreMadeOf":      "images and capacity reservations are chosen by the user, and may belong to others; nothing about them changes",
	"RecordsInTheClustersZone":       "the resource is the zone itself",
	"RecordsInThePublicZone":         "the resource is the zone itself",
	"OIDCDocuments":                  "the resource is the bucket itself",
	"BackupsOfTheCluster":            "the resource is the cluster's prefix of the bucket",
	"KeyOfTheClustersSecrets":        "the resource is the key itself",
	"InterruptionNotices":            "the resource is the queue itself, by its name",
	"BucketOfTheImageRegistry":       "the resource is the bucket itself, by its name",
	"Images":                         "the resource is the bucket itself, by its name",
	"RolesOfTheSharedVPC":            "the resources are the roles themselves",
}

// An action that changes a resource is limited to the cluster: by its resource, or by a condition on tags or on the VPC.
func TestPoliciesAreLimitedToTheCluster(t *testing.T) {
	seen := map[string]bool{}
	for _, file := range files {
		for _, s := range statements(t, file) {
			for _, action := range s.Action {
				if strings.Contains(action, "*") {
					t.Errorf("%s %s allows %s", file, s.Sid, action)
				}
			}
			changing := slices.DeleteFunc(slices.Clone(s.Action), reads)
			if len(changing) == 0 {
				continue
			}
			if slices.Contains(s.Resource, "*") {
				for _, action := range changing {
					seen[action] = true
					if wholesale[action] == "" || len(s.Condition) == 0 {
						t.Errorf("%s %s allows %s on everything", file, s.Sid, action)
					}
				}
				continue
			}
			if len(s.Condition) == 0 {
				seen[s.Sid] = true
				if unconditional[s.Sid] == "" {
					t.Errorf("%s %s allows %v without a condition", file, s.Sid, changing)
				}
			}
		}
	}
	for _, table := range []map[string]string{wholesale, unconditional} {
		for name := range table {
			if !seen[name] {
				t.Errorf("%s has a reason and no statement", name)
			}
		}
	}
}

// reads reports whether an action only reads.
func reads(action string) bool {
	_, name, _ := strings.Cut(action, ":")
	return strings.HasPrefix(name, "Describe") || strings.HasPrefix(name, "List") || strings.HasPrefix(name, "Get")
}

// A condition on an existing resource requires the cluster tag, or the operator's tag.
func TestConditionsNameTheTagsThatOurCodeSets(t *testing.T) {
	keys := []string{names.ClusterTag("${INFRA_ID}"), awsx.OwnerTag}
	for _, file := range files {
		for _, s := range statements(t, file) {
			for operator, condition := range s.Condition {
				for key := range condition {
					for _, prefix := range []string{"aws:RequestTag/", "aws:ResourceTag/"} {
						if tag, ok := strings.CutPrefix(key, prefix); ok && !slices.Contains(keys, tag) {
							t.Errorf("%s %s: %s names the tag %s, want one of %v", file, s.Sid, operator, tag, keys)
						}
					}
				}
			}
		}
	}
	if got := awsx.OwnedTags(nil, "uid", "role", "demo-abcde", "name"); got[names.ClusterTag("demo-abcde")] != "owned" || got[awsx.OwnerTag] != "uid" {
		t.Errorf("the tags of a resource are %v", got)
	}
}

func TestFill(t *testing.T) {
	all := map[string]string{"INFRA_ID": "demo-abcde", "VPC": "vpc-1", "LOCAL_ZONE_ID": "Z1", "OIDC_BUCKET": "docs", "KMS_KEY": "arn:aws:kms:us-east-1:1:key/1",
		"SHARED_VPC_CONTROL_PLANE_ROLE": "arn:aws:iam::1:role/a", "SHARED_VPC_INGRESS_ROLE": "arn:aws:iam::1:role/b", "PUBLIC_ZONE_ID": "Z2", "PRIVATE_ZONE_ID": "Z3", "BACKUP_BUCKET": "backups",
		"IMAGE_REGISTRY_BUCKET_PREFIX": registrybucket.Prefix("demo-abcde")}
	for _, file := range files {
		policy, err := Fill(file, all)
		if err != nil || strings.Contains(policy, "${") {
			t.Errorf("%s: %v, %s", file, err, policy)
		}
	}
	_, err := Fill(ControlPlaneOperator, map[string]string{"INFRA_ID": "demo-abcde"})
	if err == nil || !strings.Contains(err.Error(), "LOCAL_ZONE_ID") || !strings.Contains(err.Error(), "VPC") {
		t.Errorf("the error does not name what is missing: %v", err)
	}
}

// The default worker role of nodes is the role that may be passed on to them.
func TestTheWorkerRoleIsTheOneOfTheDefaultInstanceProfile(t *testing.T) {
	for _, s := range statements(t, NodePoolManagement) {
		if slices.Contains(s.Action, "iam:PassRole") {
			if diff := cmp.Diff([]string{"arn:aws:iam::*:role/" + names.WorkerRole("${INFRA_ID}")}, []string(s.Resource)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			return
		}
	}
	t.Error("no statement allows iam:PassRole")
}

func hypershiftOperator() []string {
	// Without the permission to list, S3 calls a document that is missing forbidden.
	actions := called(HypershiftOperator, "s3:ListBucket")
	// The permission to delete one object allows deleting many.
	actions[slices.Index(actions, "s3:DeleteObjects")] = "s3:DeleteObject"
	return actions
}

// namesInIAM are the names that IAM has for calls of S3.
// Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html
var namesInIAM = map[string]string{
	"s3:DeleteObjects":                   "s3:DeleteObject",
	"s3:GetBucketEncryption":             "s3:GetEncryptionConfiguration",
	"s3:GetBucketLifecycleConfiguration": "s3:GetLifecycleConfiguration",
	"s3:GetPublicAccessBlock":            "s3:GetBucketPublicAccessBlock",
	"s3:ListMultipartUploads":            "s3:ListBucketMultipartUploads",
	"s3:ListObjectVersions":              "s3:ListBucketVersions",
	"s3:PutBucketEncryption":             "s3:PutEncryptionConfiguration",
	"s3:PutBucketLifecycleConfiguration": "s3:PutLifecycleConfiguration",
	"s3:PutPublicAccessBlock":            "s3:PutBucketPublicAccessBlock",
}

// imageRegistry returns the actions for the calls of the control-plane-operator and of the registry's S3 driver:
// https://distribution.github.io/distribution/storage-drivers/s3/#s3-permission-scopes
func imageRegistry() []string {
	actions := called(ImageRegistry,
		"s3:DeleteObjectVersion", // a deletion that names the version needs it, also in a bucket without versioning
		"s3:GetBucketLocation", "s3:GetObject", "s3:ListBucket", "s3:ListMultipartUploadParts", "s3:PutObject",
		"s3:PutObjectAcl") // the registry names the only one that the bucket accepts
	for i, action := range actions {
		if name := namesInIAM[action]; name != "" {
			actions[i] = name
		}
	}
	slices.Sort(actions)
	return actions
}

// called lists the actions of the resources that name a policy, and others, sorted.
func called(policy string, others ...string) []string {
	actions := append(awsresources.Actions(policy), others...)
	slices.Sort(actions)
	return slices.Compact(actions)
}

func without(action string, actions []string) []string {
	return slices.DeleteFunc(actions, func(a string) bool { return a == action })
}

// files are all documents, so that none is left out of a test.
var files = func() []string {
	entries, err := documents.ReadDir(".")
	utilruntime.Must(err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}()

type statement struct {
	Sid              string
	Action, Resource oneOrMany
	Condition        map[string]map[string]oneOrMany
}

// oneOrMany is a string or a list of strings.
type oneOrMany []string

func (o *oneOrMany) UnmarshalJSON(text []byte) error {
	var many []string
	if err := json.Unmarshal(text, &many); err != nil {
		many = make([]string, 1)
		if err := json.Unmarshal(text, &many[0]); err != nil {
			return err
		}
	}
	*o = many
	return nil
}

func statements(t *testing.T, file string) []statement {
	t.Helper()
	text, err := documents.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var policy struct{ Statement []statement }
	if err := json.Unmarshal(text, &policy); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if len(policy.Statement) == 0 {
		t.Fatalf("%s allows nothing", file)
	}
	return policy.Statement
}

func allowed(t *testing.T, file string) []string {
	t.Helper()
	var actions []string
	for _, s := range statements(t, file) {
		actions = append(actions, s.Action...)
	}
	slices.Sort(actions)
	return slices.Compact(actions)
}
