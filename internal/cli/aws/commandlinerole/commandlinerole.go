// Package commandlinerole is a role with which the command line works on one cluster, as a graph of resources.
// `hypershift create iam cli-role` creates them, and `destroy iam cli-role` deletes them.
package commandlinerole

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/hosted-control-planes/hypershift/config/iam"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/iamrole"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// OwnershipTag is the key of the ownership tag of a role. Its value is the name of the role. It is not the tag of the cluster: the
// deletion of the cluster would delete the role with which it is deleted.
const OwnershipTag = "hypershift.openshift.io/cli-role"

// Commands are the policies that a role has by default: the policies of the commands for one cluster.
var Commands = []string{
	"create-infra", "destroy-infra", "create-iam", "destroy-iam", "create-nodepool", "create-bastion", "destroy-bastion", "console-logs", "doctor",
	"fix-dr-oidc-iam", "leftovers",
}

// Spec is the user's request.
type Spec struct {
	// Name of the role. Default: hypershift-cli-<infra ID>. It does not start with the infra ID, because the role may change roles
	// that do.
	Name    string
	InfraID string
	// Bucket and NamePrefix are for the policies that have them.
	Bucket, NamePrefix string
	// Commands are names of policies in config/iam/commandline.
	Commands []string
	// Trusted are the users, roles or accounts that may assume the role. Default: the account.
	Trusted []string
	// Partition and Account are where the role is.
	Partition, Account string
	Tags               awsx.Tags
}

// RoleName is the name of the role.
func (s Spec) RoleName() string { return cmp.Or(s.Name, "hypershift-cli-"+s.InfraID) }

// Owner is the owner of the role.
func (s Spec) Owner() awsgraph.Owner {
	return awsgraph.Owner{Key: OwnershipTag, Value: s.RoleName(), Tags: s.Tags}
}

var trustedARN = regexp.MustCompile(`^arn:[a-z-]+:(iam|sts)::[0-9]{12}:(root|user/.+|role/.+|assumed-role/.+)$`)

// Validate returns the problems, before any call of AWS. Paths are names of flags.
func (s Spec) Validate() field.ErrorList {
	var errs field.ErrorList
	flag := func(name string) *field.Path { return field.NewPath("--" + name) }
	if s.InfraID == "" {
		errs = append(errs, field.Required(flag("infra-id"), ""))
	}
	for _, problem := range validation.IsDNS1123Label(s.InfraID) {
		if s.InfraID != "" {
			errs = append(errs, field.Invalid(flag("infra-id"), s.InfraID, problem))
		}
	}
	if len(s.RoleName()) > 64 {
		errs = append(errs, field.TooLong(flag("name"), s.RoleName(), 64))
	}
	if s.InfraID != "" && strings.HasPrefix(s.RoleName(), s.InfraID+"-") {
		errs = append(errs, field.Invalid(flag("name"), s.RoleName(), "must not start with the infra ID: the role may change the policies of roles that do, and would of its own"))
	}
	for _, arn := range s.Trusted {
		if !trustedARN.MatchString(arn) {
			errs = append(errs, field.Invalid(flag("trusted-arn"), arn, "must be the ARN of a user, a role, or the root of an account"))
		}
	}
	if len(s.Commands) == 0 {
		errs = append(errs, field.Required(flag("commands"), ""))
	}
	if _, err := s.policy(); len(errs) == 0 && err != nil {
		errs = append(errs, field.Invalid(flag("commands"), strings.Join(s.Commands, ","), err.Error()))
	}
	return append(errs, s.Tags.Validate(flag("additional-tags"), func(key string) bool { return key == OwnershipTag })...)
}

func (s Spec) trust() string {
	trusted := s.Trusted
	if len(trusted) == 0 {
		trusted = []string{fmt.Sprintf("arn:%s:iam::%s:root", cmp.Or(s.Partition, "aws"), s.Account)}
	}
	principals := make([]any, len(trusted))
	for i, arn := range trusted {
		principals[i] = arn
	}
	return iamrole.Document(map[string]any{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": map[string]any{"AWS": principals}})
}

// statement is a statement of the policies in config/iam/commandline.
type statement struct {
	Sid       string `json:"Sid,omitempty"`
	Effect    string
	Action    []string
	Resource  any
	Condition map[string]map[string]any `json:"Condition,omitempty"`
}

// policy is the union of the policies of all commands.
func (s Spec) policy() (string, error) {
	var all []statement
	for _, command := range s.Commands {
		statements, err := s.statements(command)
		if err != nil {
			return "", fmt.Errorf("policy of %s: %w", command, err)
		}
		all = append(all, statements...)
	}
	var statements []any
	for _, st := range merge(all) {
		statements = append(statements, st)
	}
	text := iamrole.InPartition(iamrole.Document(statements...), s.Partition)
	if len(text) > iamrole.MaxInline {
		return "", fmt.Errorf("the policies together have %d characters, and a role may have %d: leave commands out", len(text), iamrole.MaxInline)
	}
	return text, nil
}

// set is a set of names.
type set map[string]bool

// merge returns fewer statements that allow the same. Statements with the same condition become one, unless this would allow one of their
// actions on a resource of a type that the action takes and that no statement allows with this condition.
func merge(all []statement) []statement {
	type merged struct {
		condition          map[string]map[string]any
		key                string
		actions, resources set
	}
	types, granted := map[string]set{}, set{}
	grant := func(condition, action, resource string) string { return condition + " " + action + " " + resource }
	var parts []merged
	for _, st := range all {
		// A map is printed in the order of its keys.
		part := merged{st.Condition, fmt.Sprint(st.Condition), set{}, set{}}
		for _, r := range list(st.Resource) {
			part.resources[r] = true
			for _, a := range st.Action {
				part.actions[a] = true
				if types[a] == nil {
					types[a] = set{}
				}
				types[a][typeOf(r)], granted[grant(part.key, a, r)] = true, true
			}
		}
		parts = append(parts, part)
	}
	allowsMore := func(condition string, actions, resources set) bool {
		for a := range actions {
			for r := range resources {
				if granted[grant(condition, a, r)] || granted[grant(condition, a, "*")] {
					continue
				}
				if r == "*" || types[a][typeOf(r)] || a == "ec2:CreateTags" { // which takes all types
					return true
				}
			}
		}
		return false
	}
	var into []merged
	for _, part := range parts {
		i := slices.IndexFunc(into, func(m merged) bool {
			return m.key == part.key && !allowsMore(m.key, m.actions, part.resources) && !allowsMore(m.key, part.actions, m.resources)
		})
		if i < 0 {
			into = append(into, part)
			continue
		}
		maps.Copy(into[i].actions, part.actions)
		maps.Copy(into[i].resources, part.resources)
	}
	var statements []statement
	for _, m := range into {
		statements = append(statements, statement{
			Effect: "Allow", Action: slices.Sorted(maps.Keys(m.actions)), Resource: slices.Sorted(maps.Keys(m.resources)), Condition: m.condition,
		})
	}
	return statements
}

// typeOf returns the type of the resources of an ARN, such as ec2:subnet; ARNs of S3 have no type.
func typeOf(arn string) string {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) < 6 {
		return arn
	}
	name, _, _ := strings.Cut(parts[5], "/")
	return parts[2] + ":" + name
}

// statements are the statements of a command's policy.
func (s Spec) statements(command string) ([]statement, error) {
	text, err := iam.FillCommand(command, map[string]string{"INFRA_ID": s.InfraID, "OIDC_BUCKET": s.Bucket, "NAME_PREFIX": s.NamePrefix})
	if err != nil {
		return nil, err
	}
	var document struct{ Statement []statement }
	err = json.Unmarshal([]byte(text), &document)
	return document.Statement, err
}

func list(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, one := range v {
			all = append(all, fmt.Sprint(one))
		}
		return all
	}
	return []string{""}
}

// Nodes returns the nodes of the spec in the account of cfg.
func Nodes(cfg aws.Config, s Spec) []*rg.Node {
	client := iamrole.New(cfg, s.Owner())
	name := s.RoleName()
	return []*rg.Node{
		client.Role(iamrole.Role{ID: "role", Name: name, Trust: s.trust()}),
		client.Policy(iamrole.Policy{ID: "policy", Name: "hypershift", RoleID: "role", RoleName: name, Document: func(rg.IDs) (string, error) { return s.policy() }}),
	}
}

// Discover finds the role for its deletion. kept is a role of that name that is not ours.
func Discover(ctx context.Context, cfg aws.Config, s Spec) (_ *rg.Graph, kept []string, _ error) {
	node, notOwned, err := iamrole.New(cfg, s.Owner()).Find(ctx, s.RoleName())
	if err != nil {
		return nil, nil, err
	}
	if notOwned != nil {
		kept = append(kept, notOwned.Error())
	}
	var nodes []*rg.Node
	if node != nil {
		nodes = append(nodes, node)
	}
	graph, err := rg.New(nodes...)
	return graph, kept, err
}

// Output is the result.
type Output struct {
	RoleARN string `json:"roleARN"`
}

// NewOutput returns the result of a spec that was applied.
func NewOutput(s Spec) Output {
	return Output{RoleARN: fmt.Sprintf("arn:%s:iam::%s:role/%s", s.Partition, s.Account, s.RoleName())}
}
