package awstemplate

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

func node(id, kind string, attributes rg.Attributes, dependsOn ...string) *rg.Node {
	return &rg.Node{
		ID: id, Kind: kind, Name: id, DependsOn: dependsOn,
		Desired: func(rg.IDs) rg.Attributes { return attributes },
		Create:  func(context.Context, rg.Creation) (rg.Observed, error) { return rg.Observed{}, nil },
	}
}

func TestWhatHasNoTranslationIsAnError(t *testing.T) {
	vpc := node("vpc", "VPC", rg.Attributes{"cidr": "10.0.0.0/16"})
	tagged := node("attachment", "Attachment of the internet gateway", awsgraph.WithTags(rg.Attributes{"vpc": ID("vpc")}, awsx.Tags{"a": "b"}), "vpc", "gateway")
	gateway := node("gateway", "Internet gateway", nil)
	group := node("group", "Security group", rg.Attributes{"vpc": ID("vpc"), "description": "a group"}, "vpc")
	created := func(err error) *rg.Node {
		n := node("vpc", "VPC", rg.Attributes{"cidr": "10.0.0.0/16"})
		n.Initial = func() (rg.Attributes, error) { return rg.Attributes{"tenancy": "dedicated"}, err }
		return n
	}
	for name, c := range map[string]struct {
		nodes []*rg.Node
		want  string
	}{
		"a kind":                     {[]*rg.Node{node("queue", "Queue", nil)}, `node queue: the kind "Queue" has no translation`},
		"an attribute":               {[]*rg.Node{node("vpc", "VPC", rg.Attributes{"cidr": "10.0.0.0/16", "tenancy": "dedicated"})}, `node vpc: the attribute "tenancy" has no translation`},
		"an attribute that is gone":  {[]*rg.Node{node("vpc", "VPC", nil)}, `node vpc: the attribute "cidr" is missing`},
		"tags":                       {[]*rg.Node{vpc, gateway, tagged}, "node attachment: its tags have no translation"},
		"a VPC attribute":            {[]*rg.Node{vpc, node("mapping", "VPC attribute", rg.Attributes{"value": "true"}, "vpc")}, "node mapping: the VPC attribute mapping has no translation"},
		"a part without its whole":   {[]*rg.Node{node("tags", "Tags", nil)}, "node tags depends on no Private hosted zone"},
		"two nodes with the same ID": {[]*rg.Node{vpc, vpc}, "twice"},
		"a target of a route": {[]*rg.Node{vpc, node("table", "Route table", rg.Attributes{"vpc": ID("vpc")}, "vpc"),
			node("route", "Route", rg.Attributes{"target": ID("vpc")}, "table", "vpc")}, `node route: a route to "VPC" has no translation`},
		"a second rule of a group": {[]*rg.Node{vpc, group, node("rules", "Ingress rules of", rg.Attributes{"ingress": "tcp 1-2 from 10.0.0.0/8, tcp 22-22 from 0.0.0.0/0"}, "group")},
			`node rules: the rules "tcp 1-2 from 10.0.0.0/8, tcp 22-22 from 0.0.0.0/0" have no translation`},
		"a role of an instance":      {[]*rg.Node{node("instance", "Instance", rg.Attributes{"profile": "worker"})}, `node instance: the attribute "profile" has no translation`},
		"an attribute of a creation": {[]*rg.Node{created(nil)}, `node vpc: the attribute "tenancy" has no translation`},
		"user data that fail":        {[]*rg.Node{created(errors.New("no entropy"))}, "node vpc: no entropy"},
	} {
		_, _, err := Document{Nodes: c.nodes}.CloudFormation()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("CloudFormation, %s: %v, want %q", name, err, c.want)
		}
		if _, err := (Document{Nodes: c.nodes}).Terraform(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Terraform, %s: %v, want %q", name, err, c.want)
		}
	}
}

func TestTwoNodesWithOneNameInTheLanguageAreAnError(t *testing.T) {
	d := Document{Nodes: []*rg.Node{node("a/b", "Internet gateway", nil), node("a-b", "Internet gateway", nil)}}
	if _, _, err := d.CloudFormation(); err == nil || !strings.Contains(err.Error(), "AB") {
		t.Errorf("CloudFormation: %v", err)
	}
	if _, err := d.Terraform(); err == nil || !strings.Contains(err.Error(), "aws_internet_gateway.a_b") {
		t.Errorf("Terraform: %v", err)
	}
}

// Names, tags and policies may contain text that is an expression in one of the languages.
func TestTextIsNotAnExpression(t *testing.T) {
	a := &assembly{Document: Document{Parameters: []Parameter{{Name: "Issuer", Variable: "issuer"}}}, kinds: translations()}
	issuer := a.Parameters[0].Reference()
	for _, c := range []struct {
		name, text string
		template   any
		module     string
	}{
		{"plain text", "${aws:username} %{x}", "${aws:username} %{x}", "$${aws:username} %%{x}"},
		{"a reference alone", issuer, map[string]any{"Ref": "Issuer"}, "${var.issuer}"},
		{"text beside a reference", "${aws:username}" + issuer, map[string]any{"Fn::Sub": "${!aws:username}${Issuer}"}, "$${aws:username}${var.issuer}"},
		{"account and partition", "arn:" + Partition + ":iam::" + Account + ":root", map[string]any{"Fn::Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:root"},
			"arn:${data.aws_partition.current.partition}:iam::${data.aws_caller_identity.current.account_id}:root"},
		{"nothing", "", "", ""},
	} {
		if diff := cmp.Diff(c.template, a.substitute(c.text)); diff != "" {
			t.Errorf("%s in CloudFormation (-want +got):\n%s", c.name, diff)
		}
		if got := a.interpolate(c.text); got != c.module {
			t.Errorf("%s in Terraform: %q, want %q", c.name, got, c.module)
		}
	}
}

// A dependency that no reference expresses is written down. Without it, AWS creates a NAT gateway that fails.
func TestDependenciesWithoutAReferenceAreWrittenDown(t *testing.T) {
	d := Document{Nodes: []*rg.Node{
		node("vpc", "VPC", rg.Attributes{"cidr": "10.0.0.0/16"}), node("gateway", "Internet gateway", nil),
		node("attachment", "Attachment of the internet gateway", rg.Attributes{"vpc": ID("vpc")}, "vpc", "gateway"),
		node("table", "Route table", rg.Attributes{"vpc": ID("vpc")}, "vpc"),
		node("route", "Route", rg.Attributes{"target": ID("attachment")}, "table", "attachment"),
	}}
	text, _, err := d.CloudFormation()
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Resources map[string]struct {
			DependsOn  []string
			Properties map[string]any
		}
	}
	if err := json.Unmarshal(text, &template); err != nil {
		t.Fatal(err)
	}
	route := template.Resources["Route"]
	if diff := cmp.Diff([]string{"Attachment"}, route.DependsOn); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"Ref": "Gateway"}, route.Properties["GatewayId"]); diff != "" {
		t.Error(diff)
	}
	if got := template.Resources["Table"].DependsOn; len(got) > 0 {
		t.Errorf("the table depends on %v beside its reference", got)
	}
}

func TestLimitsOfCloudFormation(t *testing.T) {
	for _, c := range []struct {
		size, resources, outputs int
		want                     string
	}{
		{MaxInBucket, 500, 200, ""}, {MaxInBucket + 1, 1, 1, "bytes"}, {1, 501, 1, "resources"}, {1, 1, 201, "outputs"},
	} {
		err := checkLimits(c.size, c.resources, c.outputs)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
