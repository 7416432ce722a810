package cluster_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/smithy-go/middleware"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/clusteriam"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/infra"
)

var update = flag.Bool("update", false, "write the golden files")

// offline is a user without AWS and without a management cluster.
type offline struct {
	t        *testing.T
	env      operation.Environment
	out, err bytes.Buffer
}

func newOffline(t *testing.T) *offline {
	u := &offline{t: t}
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	u.env = operation.Environment{
		In: strings.NewReader(""), Out: &u.out, Err: &u.err, Clock: clock.RealClock{}, StateHome: t.TempDir(),
		Middleware: []func(*middleware.Stack) error{func(*middleware.Stack) error {
			t.Error("AWS was called")
			return errors.New("no call is expected")
		}},
	}
	return u
}

func (u *offline) run(args ...string) int {
	u.out.Reset()
	u.err.Reset()
	return cli.Run(context.Background(), "hypershift", args, u.env)
}

// variables are those in the examples of the documentation.
var variables = map[string]string{
	"RELEASE_IMAGE": "registry.example.com/release:1.36.3", "KEY": "arn:aws:kms:us-east-1:222222222222:key/11111111-2222-3333-4444-555555555555",
	"REGISTRY": "registry.example.com", "VERSION": "1.36.3", "NAME": "example", "ZONES": "us-east-1a,us-east-1b", "PUBLIC_DOMAIN": "example.com",
	"BASE_DOMAIN": "example.com",
}

// examples returns the commands of the documentation that create a cluster, by the name of the cluster.
func examples(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, page := range []string{"cli.md", "eks.md"} {
		text, err := os.ReadFile(filepath.Join("../../../docs", page))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(strings.ReplaceAll(string(text), "\\\n", " "), "\n") {
			command, ok := strings.CutPrefix(line, "    hypershift create cluster aws ")
			if !ok {
				continue
			}
			args := strings.Fields(os.Expand(command, func(name string) string {
				value, ok := variables[name]
				if !ok {
					t.Errorf("%s: the example has the variable %s, which this test does not know", page, name)
				}
				return value
			}))
			name := strings.TrimSuffix(page, ".md") + "-" + value(args, "name")
			if found[name] != nil {
				t.Errorf("%s has two examples for cluster %s", page, value(args, "name"))
			}
			found[name] = args
		}
	}
	if len(found) < 4 {
		t.Fatalf("the documentation has %d examples", len(found))
	}
	return found
}

func value(args []string, flag string) string {
	if i := slices.Index(args, "--"+flag); i >= 0 {
		return args[i+1]
	}
	return ""
}

// rendering returns the command with files in place of the example's resources in AWS.
func rendering(t *testing.T, args []string) []string {
	t.Helper()
	name := value(args, "name")
	id := name + "-x7k2p"
	made := infra.Output{
		Region: "us-east-1", InfraID: id, MachineCIDR: "10.0.0.0/16", VPCID: "vpc-0123456789abcdef0", Name: name, BaseDomain: "example.com",
		PublicZoneID: "Z0PUBLIC", PrivateZoneID: "Z0PRIVATE", LocalZoneID: "Z0LOCAL", PublicOnly: slices.Contains(args, "--public-only"),
	}
	if slices.Contains(args, "--enable-secure-proxy") {
		made.ProxyAddr, made.SecureProxyAddr, made.ProxyCA = "http://10.0.0.10:3128", "https://10.0.0.10:3129", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"
	}
	for i, zone := range strings.Split(value(args, "zones"), ",") {
		made.Zones = append(made.Zones, infra.OutputZone{Name: zone, SubnetID: "subnet-0123456789abcdef" + string(rune('a'+i))})
	}
	roles := clusteriam.NewOutput(clusteriam.Spec{
		InfraID: id, Region: "us-east-1", Partition: "aws", Account: "222222222222", IssuerURL: clusteriam.S3Issuer("documents", "us-east-1", id),
		KMSKeyARN: value(args, "kms-key-arn"), AutoNode: slices.Contains(args, "--auto-node"), VPCOwner: accountIn(value(args, "vpc-owner-role-arn")),
	})
	rest := []string{"create", "cluster", "aws"}
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "--wait", "--render", "--single-nat-gateway", "--public-only", "--enable-secure-proxy":
		case "--infra-json", "--iam-json", "--timeout", "--region", "--vpc-cidr", "--oidc-issuer-url", "--oidc-storage-provider-s3-bucket-name", "--oidc-storage-provider-s3-region",
			"--vpc-owner-role-arn":
			i++
		case "--ssh-key", "--pull-secret", "--additional-trust-bundle":
			rest = append(rest, args[i], filepath.Join("testdata", filepath.Base(args[i+1])))
			i++
		default:
			rest = append(rest, args[i])
		}
	}
	return append(rest, "--infra-json", writeJSON(t, made), "--iam-json", writeJSON(t, roles))
}

// accountIn returns the account in the ARN of a role.
func accountIn(role string) string {
	if role == "" {
		return ""
	}
	return strings.Split(role, ":")[4]
}

func writeJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "made.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestExamplesOfTheDocumentation renders each example. test/cel passes the golden files to an API server.
func TestExamplesOfTheDocumentation(t *testing.T) {
	files, err := filepath.Glob("testdata/render/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	found := examples(t)
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".yaml"); found[name] == nil {
			t.Errorf("%s is of no example", file)
		}
	}
	for name, args := range found {
		t.Run(name, func(t *testing.T) {
			u := newOffline(t)
			args := append(rendering(t, args), "--render-sensitive", "--etcd-encryption-key-file", "testdata/key")
			if code := u.run(append(args, "--render")...); code != cli.Done {
				t.Fatalf("exit code %d\n%s", code, u.err.String())
			}
			first := u.out.String()
			into := filepath.Join(t.TempDir(), "objects.yaml")
			if code := u.run(append(args, "--render-into", into)...); code != cli.Done {
				t.Fatalf("exit code %d\n%s", code, u.err.String())
			}
			second, err := os.ReadFile(into)
			if err != nil {
				t.Fatal(err)
			}
			if first != string(second) {
				t.Error("a second run has printed something else")
			}
			if entries, err := os.ReadDir(u.env.StateHome); err != nil || len(entries) > 0 {
				t.Errorf("the command has written a state: %v %v", entries, err)
			}
			golden := filepath.Join("testdata/render", name+".yaml")
			if *update {
				if err := os.WriteFile(golden, second, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if first != string(want) {
				t.Errorf("%s differs: go test ./cmd/hypershift/cluster -args -update, and look at it\n%s", golden, first)
			}
		})
	}
}

func TestSecretsAreOnlyRenderedOnRequest(t *testing.T) {
	u := newOffline(t)
	args := append(rendering(t, []string{"--name", "demo", "--zones", "us-east-1a", "--release-image", "example.com/release:1"}), "--render")
	if code := u.run(args...); code != cli.Done {
		t.Fatalf("exit code %d\n%s", code, u.err.String())
	}
	if text := u.out.String(); strings.Contains(text, "kind: Secret") || !strings.Contains(text, "# These Secrets have to exist in the same namespace: demo-pull-secret, demo-etcd-encryption-key.") {
		t.Errorf("printed:\n%s", text)
	}
}

func TestUsageErrorsNameTheFlag(t *testing.T) {
	base := func(more ...string) []string {
		return append(rendering(t, []string{"--name", "demo", "--zones", "us-east-1a", "--release-image", "example.com/release:1"}), append(more, "--render")...)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"ids of AWS are needed":                 {[]string{"create", "cluster", "aws", "--name", "demo", "--render"}, "--render needs --infra-json and --iam-json"},
		"no random key":                         {base("--render-sensitive"), "--render-sensitive needs --etcd-encryption-key-file"},
		"render does not wait":                  {base("--wait"), "--render excludes --plan and --wait"},
		"a release image is needed":             {rendering(t, []string{"--name", "demo", "--zones", "us-east-1a", "--render-into", "x"}), "--release-image: Required value"},
		"an unknown access mode":                {base("--endpoint-access", "Hidden"), `--endpoint-access: Unsupported value: "Hidden"`},
		"a network that overlaps the VPC":       {base("--cluster-cidr", "10.0.0.0/14"), "share addresses"},
		"a zone that the network does not have": {append(base(), "--zones", "us-east-1f"), "--zones has us-east-1f"},
		"another infra ID":                      {base("--infra-id", "other"), "--infra-id is other, and --infra-json is of demo-x7k2p"},
		"a network that is not created":         {base("--vpc-cidr", "10.1.0.0/16"), "--vpc-cidr has no effect with --infra-json"},
		"roles that are not created":            {base("--oidc-issuer-url", "https://issuer.example.com"), "--oidc-issuer-url has no effect with --iam-json"},
		"a private key":                         {base("--ssh-key", "testdata/private"), "the file is not a public key"},
		"a toleration":                          {base("--toleration", "size=1"), `"size" is not one of key`},
		"a size of etcd":                        {base("--etcd-storage-size", "much"), "--etcd-storage-size"},
		"a tag of others":                       {base("--additional-tags", "kubernetes.io/cluster/other=owned"), "resourceTags has kubernetes.io/cluster/other"},
		"a role for nodes on demand":            {base("--auto-node"), "--auto-node"},
		"a name that is too long":               {base("--namespace", strings.Repeat("n", 63)), "choose a shorter name or namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			u := newOffline(t)
			if code := u.run(c.args...); code != cli.Usage || !strings.Contains(u.err.String(), c.want) {
				t.Errorf("exit code %d, want %d with %q:\n%s", code, cli.Usage, c.want, u.err.String())
			}
		})
	}
}
