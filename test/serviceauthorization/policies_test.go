package serviceauthorization

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hosted-control-planes/hypershift/hack/venv/venv"
)

var update = flag.Bool("update", false, "write reference.json")

// others are actions of policies that have no file: the actions of the roles for a bastion and for the roles in the account of a
// shared VPC.
var others = []string{
	"ssm:UpdateInstanceInformation", "ssmmessages:CreateControlChannel", "ssmmessages:CreateDataChannel", "ssmmessages:OpenControlChannel",
	"ssmmessages:OpenDataChannel", "sts:AssumeRole",
}

// values replace the variables of policies. All are as long as AWS and the command line allow.
var values = map[string]string{
	"INFRA_ID": strings.Repeat("i", 32), "VPC": "vpc-0123456789abcdef0", "OIDC_BUCKET": strings.Repeat("b", 63), "BACKUP_BUCKET": strings.Repeat("b", 63), "NAME_PREFIX": strings.Repeat("p", 48),
	"IMAGE_REGISTRY_BUCKET_PREFIX": strings.Repeat("i", 32) + "-image-registry-",
	"PUBLIC_ZONE_ID":               strings.Repeat("Z", 32), "PRIVATE_ZONE_ID": strings.Repeat("Z", 32), "LOCAL_ZONE_ID": strings.Repeat("Z", 32),
	"KMS_KEY":                       "arn:aws:kms:us-east-1:111111111111:key/00000000-0000-0000-0000-000000000000",
	"SHARED_VPC_CONTROL_PLANE_ROLE": "arn:aws:iam::222222222222:role/endpoint", "SHARED_VPC_INGRESS_ROLE": "arn:aws:iam::222222222222:role/route53",
}

var variable = regexp.MustCompile(`\$\{([A-Z_]+)\}`)

// policies returns the policies in files, by their path.
func policies(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"config/iam/*.json", "config/iam/commandline/*.json", "internal/cli/aws/clusteriam/policies/*.json"} {
		files, err := filepath.Glob("../../" + pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all[strings.TrimPrefix(file, "../../")] = variable.ReplaceAllStringFunc(string(text), func(v string) string { return values[variable.FindStringSubmatch(v)[1]] })
		}
	}
	return all
}

func TestReferenceIsGenerated(t *testing.T) {
	if !*update {
		t.Skip("needs packages of PyPI: run it with -args -update, after an action was added to a policy")
	}
	actions := slices.Clone(others)
	for file, policy := range policies(t) {
		more, err := Actions(policy)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		actions = append(actions, more...)
	}
	requirements, err := os.ReadFile("requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	python, err := venv.Install(t.Context(), "service authorization reference", requirements, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	var out, problems bytes.Buffer
	c := exec.CommandContext(t.Context(), python, "generate.py")
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(strings.Join(actions, "\n")), &out, &problems
	if err := c.Run(); err != nil {
		t.Fatalf("%v: %s", err, problems.String())
	}
	if err := os.WriteFile("reference.json", out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// accepted are findings that stay, by the file of the policy, the Sid and the action.
var accepted = func() map[string]string {
	all := map[string]string{
		"create-infra.json - route53:ChangeTagsForResource": "the reference marks both types of the action as required, and a request has one of them",
		"doctor.json Reads servicequotas:GetServiceQuota":   "the command reads quotas of several services; nothing about them is secret",
		"karpenter.json NewInstances -":                     "Karpenter tags the spot request of an instance, and EC2 asks for RunInstances on it then, which the reference does not list: https://karpenter.sh/docs/reference/cloudformation/",
	}
	for _, action := range []string{"Decrypt", "GenerateDataKey"} {
		all["etcd-backup.json KeyOfTheBackups kms:"+action] = "the user chooses the key of a backup, by kms:ViaService for S3 only"
	}
	for _, file := range []string{"node-pool-management.json", "storage.json"} {
		for _, action := range []string{"Decrypt", "DescribeKey", "GenerateDataKeyWithoutPlaintext", "ReEncryptFrom", "ReEncryptTo"} {
			all[file+" VolumesWithTheUsersKey kms:"+action] = "the user chooses the key of a volume, by kms:ViaService for EC2 only"
		}
		all[file+" GrantsOfThatKeyToEC2 kms:CreateGrant"] = "the same, and only for grants to AWS itself"
	}
	return all
}()

// Each statement of a policy has the effect that it seems to have.
func TestPoliciesHaveTheTypesAndKeysThatAWSEvaluates(t *testing.T) {
	reference, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for file, policy := range policies(t) {
		findings, err := reference.Check(policy)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		for _, f := range findings {
			if key := fmt.Sprintf("%s %s %s", filepath.Base(file), f.Sid, f.Action); accepted[key] != "" {
				seen[key] = true
				continue
			}
			t.Errorf("%s: %s", file, f)
		}
	}
	for key := range accepted {
		if !seen[key] {
			t.Errorf("%s is accepted, and there is no such finding", key)
		}
	}
}

// A policy in a file can be a customer managed policy, which may have 6,144 characters without white space.
// Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
func TestPoliciesFitIntoAManagedPolicy(t *testing.T) {
	for file, policy := range policies(t) {
		if size := len(strings.Join(strings.Fields(policy), "")); size > 6144 {
			t.Errorf("%s has %d characters", file, size)
		}
	}
}
