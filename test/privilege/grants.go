package privilege

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Right is one thing that can be allowed.
type Right struct {
	Thing string // a resource as in secrets or hostedclusters.hypershift.openshift.io/status, or a service of AWS
	Verb  string // a verb of Kubernetes, or an action of that service
}

// Grant holds the rights of one rule or statement.
type Grant struct {
	Why    string // as its file says
	Rights []Right
	Where  string // the resources and conditions of a statement; empty for a rule
}

// Holder is whom we give permissions to.
type Holder struct {
	Name   string
	Grants []Grant
}

// Has reports whether a right has been granted.
func (h Holder) Has(r Right) bool {
	return slices.ContainsFunc(h.Grants, func(g Grant) bool { return slices.Contains(g.Rights, r) })
}

// NodePoolManagement is the role as which Cluster API's AWS provider acts.
const NodePoolManagement = "node-pool-management"

// cloudController is the role of the cloud controller of a hosted cluster.
const cloudController = "cloud-controller"

// hypershiftOperator is both a service account and a role.
const hypershiftOperator = "hypershift-operator"

// ServiceAccounts returns the service accounts of a management cluster that we ship permissions for, in the checkout at root.
func ServiceAccounts(root string) ([]Holder, error) {
	return read(root, "rbac", rules, map[string][]string{
		hypershiftOperator:         {"hypershift-operator/cluster_role.yaml"},
		names.ControlPlaneOperator: {"control-plane-operator/cluster_role.yaml"},
		names.ClusterAPI:           {"cluster-api/cluster_role.yaml", "cluster-api-provider-aws/cluster_role.yaml", "hypershift-operator/cluster_api_role.yaml"},
		names.ClusterAutoscaler:    {"cluster-autoscaler/cluster_role.yaml"},
	})
}

// Roles are those in AWS that we ship policies for.
func Roles(root string) ([]Holder, error) {
	return read(root, "iam", statements, map[string][]string{
		hypershiftOperator:         {"hypershift-operator.json"},
		names.ControlPlaneOperator: {"control-plane-operator.json"},
		NodePoolManagement:         {"node-pool-management.json"},
		cloudController:            {"cloud-controller.json"},
		names.Karpenter:            {"karpenter.json"},
	})
}

// read makes the holders, in an order in which a reader meets them.
func read(root, dir string, parse func([]byte) ([]Grant, error), files map[string][]string) ([]Holder, error) {
	var holders []Holder
	for _, name := range []string{hypershiftOperator, names.ControlPlaneOperator, names.ClusterAPI, names.ClusterAutoscaler, NodePoolManagement, cloudController, names.Karpenter} {
		if len(files[name]) == 0 {
			continue
		}
		holder := Holder{Name: name}
		for _, file := range files[name] {
			path := filepath.Join(root, "config", dir, file)
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			grants, err := parse(text)
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", path, err)
			}
			holder.Grants = append(holder.Grants, grants...)
		}
		holders = append(holders, holder)
	}
	return holders, nil
}

// rules reads a ClusterRole. The comment above a rule is its reason. A rule without a comment takes the reason of the rule above it.
func rules(text []byte) ([]Grant, error) {
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(text, &role); err != nil {
		return nil, err
	}
	reasons := comments(string(text))
	if len(reasons) != len(role.Rules) {
		return nil, fmt.Errorf("%d rules begin with apiGroups, of %d", len(reasons), len(role.Rules))
	}
	var grants []Grant
	for i, rule := range role.Rules {
		if i == 0 || reasons[i] != "" {
			grants = append(grants, Grant{Why: reasons[i]})
		}
		grant := &grants[len(grants)-1]
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					grant.Rights = append(grant.Rights, Right{thing(group, resource), verb})
				}
			}
		}
	}
	return grants, nil
}

// comments gives the comment above each rule, "" if it has none. The parser of YAML throws them away.
func comments(text string) (reasons []string) {
	var reason []string
	_, text, _ = strings.Cut(text, "\nrules:\n")
	for line := range strings.Lines(text) {
		if comment, is := strings.CutPrefix(strings.TrimSpace(line), "# "); is {
			reason = append(reason, comment)
		} else if strings.HasPrefix(line, "- apiGroups:") {
			reasons = append(reasons, strings.Join(reason, " "))
			reason = nil
		}
	}
	return reasons
}

// thing names a resource of a group; subresource and all.
func thing(group, resource string) string {
	if group == "" {
		return resource
	}
	resource, subresource, has := strings.Cut(resource, "/")
	if has {
		subresource = "/" + subresource
	}
	return resource + "." + group + subresource
}

// statements reads a policy; why there is a statement is its Sid.
func statements(text []byte) ([]Grant, error) {
	var policy struct {
		Statement []struct {
			Sid              string
			Action, Resource oneOrMany
			Condition        map[string]map[string]oneOrMany
		}
	}
	if err := json.Unmarshal(text, &policy); err != nil {
		return nil, err
	}
	var grants []Grant
	for _, s := range policy.Statement {
		grant := Grant{Why: s.Sid, Where: where(s.Resource, s.Condition)}
		for _, action := range s.Action {
			grant.Rights = append(grant.Rights, right(action))
		}
		grants = append(grants, grant)
	}
	return grants, nil
}

// oneOrMany is a string or a list of strings.
type oneOrMany []string

// UnmarshalJSON implements json.Unmarshaler.
func (o *oneOrMany) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*o = oneOrMany{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(o))
}

// where writes resources and conditions for a reader: the end of the ARNs, and key = values.
func where(resources oneOrMany, conditions map[string]map[string]oneOrMany) string {
	var ends, ifs []string
	for _, resource := range resources {
		parts := strings.SplitN(resource, ":", 6)
		ends = append(ends, "`"+parts[len(parts)-1]+"`")
	}
	for _, operator := range slices.Sorted(maps.Keys(conditions)) {
		for _, key := range slices.Sorted(maps.Keys(conditions[operator])) {
			values := strings.Join(conditions[operator][key], " or ")
			if operator == "Null" {
				ifs = append(ifs, "`"+key+"` is set")
			} else {
				ifs = append(ifs, "`"+key+"` is `"+values+"`")
			}
		}
	}
	text := strings.Join(ends, ", ")
	if len(ifs) > 0 {
		text += ", if " + strings.Join(ifs, " and ")
	}
	return text
}

// right is an action such as ec2:RunInstances as a right.
func right(action string) Right {
	service, verb, _ := strings.Cut(action, ":")
	return Right{service, verb}
}
