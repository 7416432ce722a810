package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/google/go-cmp/cmp"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awstemplate"
	"github.com/hosted-control-planes/hypershift/test/awstemplates"
)

// variant has flags of both commands.
type variant struct {
	name       string
	zones      string
	infra, iam []string
}

var variants = []variant{
	{"three zones, KMS, nodes on demand", threeZones,
		[]string{"--additional-tags", "team=a b+c=d@e:f/g"}, []string{"--kms-key-arn", "arn:aws:kms:us-east-1:111111111111:key/k", "--auto-node", "--additional-tags", "team=a"}},
	{"one NAT gateway", "us-east-1b,us-east-1a", []string{"--single-nat-gateway", "--vpc-cidr", "10.7.0.0/16"}, nil},
	{"public only, no prefix", "us-east-1c", []string{"--public-only", "--base-domain-prefix", "none"}, nil},
	{"a proxy", threeZones, []string{"--enable-proxy", "--additional-tags", "team=a b+c=d@e:f/g"}, nil},
}

// results are the contents of infra.json and iam.json.
type results struct{ infra, iam []byte }

func (u *user) iamJSON() string { return filepath.Join(u.env.StateHome, "iam.json") }

// byCommand creates everything by the command.
func (u *user) byCommand(zones string, infra, iam []string) results {
	u.t.Helper()
	u.must(createInfra(zones, append(infra, "--output-file", u.infraJSON())...)...)
	u.must(u.createIAM(append(iam, "--output-file", u.iamJSON())...)...)
	return results{u.read(u.infraJSON()), u.read(u.iamJSON())}
}

func (u *user) read(file string) []byte {
	u.t.Helper()
	text, err := os.ReadFile(file)
	u.try(err)
	return text
}

func (u *user) write(file string, text []byte) {
	u.t.Helper()
	u.try(os.WriteFile(file, text, 0o600))
}

// render returns the output of a command, and fails the test if the command makes a call.
func (u *user) render(args ...string) []byte {
	u.t.Helper()
	u.must(append(args, "--region", "us-east-1")...)
	if len(u.writes)+u.reads > 0 {
		u.t.Errorf("the command has made %d calls", len(u.writes)+u.reads)
	}
	return bytes.Clone(u.out.Bytes())
}

// byCloudFormation creates everything by templates, and closes the gaps of CloudFormation: by the commands of the stack, where
// there is an AWS CLI, and by the command that repairs everything.
func (u *user) byCloudFormation(zones string, infra, iam []string) results {
	u.t.Helper()
	cfg := emulator.Config(u.account)
	zoneID := u.publicZone()
	made, err := awstemplates.CloudFormation(u.t.Context(), cfg, u.render(createInfra(zones, append(infra, "--render", "cloudformation")...)...), map[string]string{"PublicZoneID": zoneID})
	u.try(err)
	u.write(u.infraJSON(), []byte(made["InfraJSON"]))
	// The ids are not known when the template is rendered.
	template := u.render(append([]string{"create", "iam", "aws", "--infra-id", "demo-x7k2p", "--render", "cloudformation"}, iam...)...)
	parameters := map[string]string{"Issuer": "documents.s3.us-east-1.amazonaws.com/demo-x7k2p"}
	for _, name := range []string{"VPCID", "PublicZoneID", "PrivateZoneID", "LocalZoneID"} {
		parameters[name] = made[name]
	}
	roles, err := awstemplates.CloudFormation(u.t.Context(), cfg, template, parameters)
	u.try(err)
	u.write(u.iamJSON(), []byte(roles["IAMJSON"]))

	u.leaves(createInfra(zones, infra...), "create Main route table of the VPC", "update SOA record", "update SOA record")
	if code := u.run(u.createIAM(append(iam, "--plan")...)...); code != cli.Failed || !strings.Contains(u.err.String(), "instance profile demo-x7k2p-worker exists and does not carry the tag") {
		u.t.Errorf("with an instance profile without tags: exit code %d\n%s", code, u.err.String())
	}
	// The commands are slow, and the other variants' commands are the same.
	if _, err := exec.LookPath("aws"); err == nil && zones == threeZones {
		u.shell(made[awstemplate.CommandsOutput])
		u.shell(roles[awstemplate.CommandsOutput])
		u.leaves(createInfra(zones, infra...), "create Main route table of the VPC")
		u.leaves(u.createIAM(iam...))
	} else {
		u.tagProfile()
		u.tagInterfaces()
	}
	u.must(createInfra(zones, infra...)...)
	u.must(u.createIAM(iam...)...)
	return results{[]byte(made["InfraJSON"]), []byte(roles["IAMJSON"])}
}

// leaves fails the test if the command would do something else.
func (u *user) leaves(args []string, want ...string) {
	u.t.Helper()
	if left := u.planned(args); !slices.Equal(left, want) {
		u.t.Errorf("the command would %v, want %v\n%s", left, want, u.out.String())
	}
}

// shell runs commands of the AWS CLI.
func (u *user) shell(commands string) {
	u.t.Helper()
	c := exec.CommandContext(u.t.Context(), "sh", "-euc", commands)
	c.Env = append(os.Environ(), "AWS_PAGER=", "AWS_DEFAULT_REGION=us-east-1")
	if output, err := c.CombinedOutput(); err != nil {
		u.t.Fatalf("%s: %v\n%s", commands, err, output)
	}
}

// byTerraform creates everything by modules.
func (u *user) byTerraform(zones string, infra, iam []string) results {
	u.t.Helper()
	cfg := emulator.Config(u.account)
	made, err := awstemplates.Terraform(u.t.Context(), cfg, u.render(createInfra(zones, append(infra, "--render", "terraform")...)...), nil)
	u.try(err)
	text, err := json.Marshal(made["infra"])
	u.try(err)
	u.write(u.infraJSON(), text)
	// The ids and the issuer are defaults of variables.
	roles, err := awstemplates.Terraform(u.t.Context(), cfg, u.render(u.createIAM(append(iam, "--render", "terraform")...)...), nil)
	u.try(err)
	printed, err := json.Marshal(roles["iam"])
	u.try(err)
	u.write(u.iamJSON(), printed)
	return results{text, printed}
}

func (u *user) publicZone() string {
	u.t.Helper()
	found, err := route53.NewFromConfig(emulator.Config(u.account)).ListHostedZonesByName(u.t.Context(), &route53.ListHostedZonesByNameInput{DNSName: aws.String(domain)})
	u.try(err)
	for _, z := range found.HostedZones {
		if *z.Name == domain+"." && !z.Config.PrivateZone {
			return strings.TrimPrefix(*z.Id, "/hostedzone/")
		}
	}
	u.t.Fatal("no public zone")
	return ""
}

// tagProfile sets the ownership tag of the instance profile.
func (u *user) tagProfile() {
	u.t.Helper()
	_, err := awsiam.NewFromConfig(emulator.Config(u.account)).TagInstanceProfile(u.t.Context(), &awsiam.TagInstanceProfileInput{
		InstanceProfileName: aws.String("demo-x7k2p-worker"), Tags: []iamtypes.Tag{{Key: aws.String("kubernetes.io/cluster/demo-x7k2p"), Value: aws.String("owned")}},
	})
	u.try(err)
}

// tagInterfaces sets the tags of instances on their network interfaces.
func (u *user) tagInterfaces() {
	u.t.Helper()
	net := ec2.NewFromConfig(emulator.Config(u.account))
	found, err := net.DescribeInstances(u.t.Context(), &ec2.DescribeInstancesInput{})
	u.try(err)
	for _, r := range found.Reservations {
		for _, i := range r.Instances {
			_, err := net.CreateTags(u.t.Context(), &ec2.CreateTagsInput{Resources: []string{*i.NetworkInterfaces[0].NetworkInterfaceId}, Tags: i.Tags})
			u.try(err)
		}
	}
}

// planned returns the command's plan.
func (u *user) planned(args []string) []string {
	u.t.Helper()
	if code := u.run(append(args, "--plan", "-o", "json")...); code != cli.Changes && code != cli.Done {
		u.t.Fatalf("exit code %d\n%s", code, u.err.String())
	}
	var plan struct {
		Steps []struct{ Action, Kind string }
	}
	u.try(json.Unmarshal(u.out.Bytes(), &plan))
	var all []string
	for _, s := range plan.Steps {
		if s.Action != "none" {
			all = append(all, s.Action+" "+s.Kind)
		}
	}
	slices.Sort(all)
	return all
}

// A template creates the command's resources: the command has no work afterwards, and each resource has the same attributes and
// tags.
func TestTemplatesCreateWhatTheCommandCreates(t *testing.T) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			reference := newUser(t)
			wantResults := reference.byCommand(v.zones, v.infra, v.iam)
			want := reference.everything()
			for name, create := range map[string]func(*user) results{
				"cloudformation": func(u *user) results { return u.byCloudFormation(v.zones, v.infra, v.iam) },
				"terraform":      func(u *user) results { return u.byTerraform(v.zones, v.infra, v.iam) },
			} {
				t.Run(name, func(t *testing.T) {
					u := newUser(t)
					got := create(u)
					u.leaves(createInfra(v.zones, v.infra...))
					u.leaves(u.createIAM(v.iam...))
					if diff := cmp.Diff(want, u.everything()); diff != "" {
						t.Errorf("(-command +template):\n%s", diff)
					}
					checkResults(t, reference, wantResults, u, got)
					u.must("create", "cluster", "aws", "--name", "demo", "--release-image", "registry.example.com/release:1", "--zones", v.zones,
						"--infra-json", u.infraJSON(), "--iam-json", u.iamJSON(), "--render")
					u.must(destroyIAM()...)
					u.must(destroyInfra()...)
					if left := u.owned(); len(left) > 0 {
						t.Errorf("after the deletion by the command, %v are left", left)
					}
				})
			}
		})
	}
}

func checkResults(t *testing.T, a *user, want results, b *user, got results) {
	t.Helper()
	plain := func(u *user, text []byte) any {
		zone := map[string]string{u.account: "ACCOUNT", u.publicZone(): "PUBLIC"}
		var made map[string]any
		u.try(json.Unmarshal([]byte(u.anonymous(string(text), zone)), &made))
		for _, id := range []string{"privateZoneID", "localZoneID"} {
			if made[id] != nil && made[id] != "" {
				made[id] = "ZONE"
			}
		}
		return made
	}
	for i, pair := range [][2][]byte{{want.infra, got.infra}, {want.iam, got.iam}} {
		if diff := cmp.Diff(plain(a, pair[0]), plain(b, pair[1])); diff != "" {
			t.Errorf("file %d (-command +template):\n%s", i, diff)
		}
	}
}
