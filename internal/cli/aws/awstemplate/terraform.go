package awstemplate

import (
	"fmt"
	"regexp"
	"strings"
)

// Versions that the module needs. Older providers cannot delete SOA records.
const (
	terraformVersion = ">= 1.5"
	providerVersion  = ">= 5.100"
)

// Terraform returns the document as a module with one file, in the JSON syntax of Terraform.
func (d Document) Terraform() ([]byte, error) {
	a, err := d.assemble()
	if err != nil {
		return nil, err
	}
	variables, resources, outputs := map[string]any{}, map[string]map[string]any{}, map[string]any{}
	data := map[string]map[string]any{
		"aws_caller_identity": {"current": map[string]any{}}, "aws_partition": {"current": map[string]any{}},
	}
	for _, p := range a.Parameters {
		variable := map[string]any{"type": "string", "description": p.Description}
		if p.Default != "" {
			variable["default"] = p.Default
		}
		variables[p.Variable] = variable
	}
	for _, n := range a.looked {
		l := a.kinds[n.Kind].lookup(n)
		data[l.source] = map[string]any{moduleName(n.ID): l.sourceArguments}
	}
	for _, r := range a.order {
		if r.kind.terraform == "" {
			continue
		}
		name := moduleName(r.node.ID)
		if resources[r.kind.terraform] == nil {
			resources[r.kind.terraform] = map[string]any{}
		}
		if resources[r.kind.terraform][name] != nil {
			return nil, fmt.Errorf("two resources are named %s.%s", r.kind.terraform, name)
		}
		arguments := a.interpolate(r.terraform).(map[string]any)
		var dependsOn []any
		for _, id := range r.dependsOn {
			if a.resources[id].kind.terraform != "" {
				dependsOn = append(dependsOn, a.terraformAddress(id))
			}
		}
		if len(dependsOn) > 0 {
			arguments["depends_on"] = dependsOn
		}
		resources[r.kind.terraform][name] = arguments
	}
	for _, o := range a.Outputs {
		value, err := generic(o.Value)
		if err != nil {
			return nil, err
		}
		outputs[o.Variable] = map[string]any{"description": o.Description, "value": a.interpolate(value)}
	}
	module := map[string]any{
		"terraform": map[string]any{
			"required_version":   terraformVersion,
			"required_providers": map[string]any{"aws": map[string]any{"source": "hashicorp/aws", "version": providerVersion}},
		},
		"data": data, "resource": resources,
	}
	if len(variables) > 0 {
		module["variable"] = variables
	}
	if len(outputs) > 0 {
		module["output"] = outputs
	}
	if d.Region != "" {
		data["aws_region"] = map[string]any{"current": map[string]any{"lifecycle": map[string]any{"postcondition": map[string]any{
			"condition": fmt.Sprintf("${self.id == %q}", d.Region), "error_message": "The module is for the region " + d.Region + ".",
		}}}}
	}
	return encode(module)
}

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// moduleName returns the name of a node in a module.
func moduleName(node string) string { return notInName.ReplaceAllString(strings.ToLower(node), "_") }

func (a *assembly) terraformAddress(node string) string {
	n := a.nodes[node]
	if r := a.resources[node]; r != nil {
		return r.kind.terraform + "." + moduleName(r.node.ID)
	}
	return "data." + a.kinds[n.Kind].lookup(n).source + "." + moduleName(n.ID)
}

var escapes = strings.NewReplacer("${", "$${", "%{", "%%{")

// interpolate replaces the references in a value by expressions of Terraform.
func (a *assembly) interpolate(value any) any {
	switch v := value.(type) {
	case expression:
		return string(v)
	case string:
		var b strings.Builder
		for _, p := range parse(v) {
			if p.kind == "" {
				b.WriteString(escapes.Replace(p.text))
				continue
			}
			b.WriteString("${" + a.moduleReference(p) + "}")
		}
		return b.String()
	case []string:
		list := make([]any, len(v))
		for i := range v {
			list[i] = a.interpolate(v[i])
		}
		return list
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = a.interpolate(v[i])
		}
		return list
	case map[string]any:
		all := map[string]any{}
		for key, item := range v {
			all[key] = a.interpolate(item)
		}
		return all
	}
	return value
}

// moduleReference returns the form of a reference in a module.
func (a *assembly) moduleReference(p part) string {
	switch p.kind {
	case toAccount:
		return "data.aws_caller_identity.current.account_id"
	case toPartition:
		return "data.aws_partition.current.partition"
	case toParameter:
		for _, parameter := range a.Parameters {
			if parameter.Name == p.name {
				return "var." + parameter.Variable
			}
		}
	}
	return a.terraformAddress(p.name) + "." + a.kinds[a.nodes[p.name].Kind].argument
}
