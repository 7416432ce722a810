package awstemplate

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// resource is a resource in both languages. Values may contain references.
type resource struct {
	node *rg.Node
	kind kind
	// Properties of CloudFormation, and arguments of Terraform.
	cloudFormation, terraform map[string]any
	// dependsOn are nodes.
	dependsOn []string
}

// assembly is a document of resources.
type assembly struct {
	Document
	kinds map[string]kind
	nodes map[string]*rg.Node
	// resources by node. A node that is a part of another resource has that resource.
	resources map[string]*resource
	// order lists each resource once, and looked lists the nodes that are only looked up.
	order  []*resource
	looked []*rg.Node
	gaps   []Gap
	errs   []error
}

func (d Document) assemble() (*assembly, error) {
	graph, err := rg.New(d.Nodes...)
	if err != nil {
		return nil, fmt.Errorf("assembling the graph: %w", err)
	}
	a := &assembly{Document: d, kinds: translations(), nodes: map[string]*rg.Node{}, resources: map[string]*resource{}}
	for _, n := range graph.Nodes() {
		a.nodes[n.ID] = n
	}
	var parts []*translation
	for _, n := range graph.Nodes() {
		k, ok := a.kinds[n.Kind]
		if !ok {
			a.errs = append(a.errs, fmt.Errorf("node %s: the kind %q has no translation", n.ID, n.Kind))
			continue
		}
		if n.Create == nil {
			if k.lookup != nil {
				a.looked = append(a.looked, n)
			}
			continue
		}
		t := &translation{assembly: a, Node: n, kind: k, attributes: rg.Attributes{}}
		if n.Desired != nil {
			t.tags, t.attributes = awsgraph.SplitTags(n.Desired(ID))
		}
		if n.Initial != nil {
			initial, err := n.Initial()
			if err != nil {
				t.fail("%w", err)
			}
			maps.Copy(t.attributes, initial)
		}
		if k.partOf != "" {
			parts = append(parts, t)
			continue
		}
		t.resource = &resource{node: n, kind: k, cloudFormation: map[string]any{}, terraform: map[string]any{}}
		a.resources[n.ID] = t.resource
		a.order = append(a.order, t.resource)
		t.run()
	}
	// A part may come before the resource that it is a part of.
	for _, t := range parts {
		if t.resource = a.resources[t.related(t.kind.partOf)]; t.resource != nil {
			a.resources[t.ID] = t.resource
			t.run()
		}
	}
	for _, r := range a.order {
		a.wait(r)
	}
	return a, errors.Join(a.errs...)
}

// wait leaves out of the dependencies of a resource those that references express.
func (a *assembly) wait(r *resource) {
	all := map[*resource]string{}
	for _, id := range r.dependsOn {
		if other := a.resources[id]; other != nil && other != r {
			all[other] = other.node.ID
		}
	}
	references(r.cloudFormation, func(kind, name string) {
		// In CloudFormation, the id of some nodes is another resource's id.
		if kind == toNode && a.resources[name] != nil && a.resources[name].kind.idOf == "" {
			delete(all, a.resources[name])
		}
	})
	r.dependsOn = slices.Sorted(maps.Values(all))
}

// translation of a node.
type translation struct {
	*assembly
	*rg.Node
	kind     kind
	resource *resource
	// attributes and tags that are not translated yet.
	attributes rg.Attributes
	tags       awsx.Tags
}

func (t *translation) run() {
	t.resource.dependsOn = append(t.resource.dependsOn, t.DependsOn...)
	t.kind.translate(t)
	for _, k := range slices.Sorted(maps.Keys(t.attributes)) {
		t.fail("the attribute %q has no translation", k)
	}
	if len(t.tags) > 0 {
		t.fail("its tags have no translation")
	}
}

func (t *translation) fail(format string, args ...any) {
	t.errs = append(t.errs, fmt.Errorf("node "+t.ID+": "+format, args...))
}

// set sets a property of CloudFormation and an argument of Terraform. An empty name leaves the language out.
func (t *translation) set(property, argument string, value any) {
	if property != "" {
		t.resource.cloudFormation[property] = value
	}
	if argument != "" {
		t.resource.terraform[argument] = value
	}
}

// take returns a desired attribute.
func (t *translation) take(attribute string) string {
	value, ok := t.attributes[attribute]
	if !ok {
		t.fail("the attribute %q is missing", attribute)
	}
	delete(t.attributes, attribute)
	return value
}

// number returns the number in a text.
func (t *translation) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		t.fail("%q is not a number", text)
	}
	return n
}

// takeAll returns the rests of the attribute names that begin with the prefix.
func (t *translation) takeAll(prefix string) []string {
	var found []string
	for _, k := range slices.Sorted(maps.Keys(t.attributes)) {
		if name, ok := strings.CutPrefix(k, prefix); ok {
			found = append(found, name)
			delete(t.attributes, k)
		}
	}
	return found
}

// setTags sets the tags.
func (t *translation) setTags(property string) {
	t.set(property, "", tagList(t.tags))
	t.setTerraformTags()
}

func (t *translation) setTerraformTags() {
	t.set("", "tags", tagMap(t.tags))
	t.tags = nil
}

func tagMap(tags awsx.Tags) map[string]any {
	all := map[string]any{}
	for k, v := range tags {
		all[k] = v
	}
	return all
}

// tagArgument returns the tags as a quoted argument of the AWS CLI.
func (t *translation) tagArgument() string {
	text, err := json.Marshal(tagList(t.tags))
	if err != nil {
		t.fail("encoding its tags: %v", err)
	}
	return "'" + strings.ReplaceAll(string(text), "'", `'\''`) + "'"
}

func tagList(tags awsx.Tags) []any {
	var list []any
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, map[string]any{"Key": k, "Value": tags[k]})
	}
	return list
}

// lookUp adds a node that is only looked up, and returns a reference to it.
func (t *translation) lookUp(id, kind, name string) string {
	n := &rg.Node{ID: id, Kind: kind, Name: name}
	t.nodes[id] = n
	t.looked = append(t.looked, n)
	return ID(id)
}

// addTerraform adds a resource that only Terraform has: CloudFormation has it as a part of another one, or not at all.
func (t *translation) addTerraform(id, resourceType string, arguments map[string]any) {
	t.order = append(t.order, &resource{node: &rg.Node{ID: id}, kind: kind{terraform: resourceType}, terraform: arguments})
}

// related returns the nearest node of that kind that this one depends on.
func (t *translation) related(kind string) string {
	return t.nearest(t.Node, kind)
}

func (a *assembly) nearest(from *rg.Node, kind string) string {
	level := from.DependsOn
	// Nodes that configure another one have it as their parent.
	if from.Parent != "" {
		level = append(slices.Clone(level), from.Parent)
	}
	for len(level) > 0 {
		var next []string
		for _, id := range level {
			n := a.nodes[id]
			if n == nil {
				continue
			}
			if n.Kind == kind {
				return id
			}
			next = append(next, n.DependsOn...)
		}
		level = next
	}
	a.errs = append(a.errs, fmt.Errorf("node %s depends on no %s", from.ID, kind))
	return ""
}

// gap records a part of the node, or all of it, that CloudFormation cannot create.
func (t *translation) gap(part, reason, command string) {
	t.gaps = append(t.gaps, Gap{What: strings.Join(strings.Fields(t.Kind+" "+t.Name+" "+part), " "), Reason: reason, command: command})
}
