package awstemplate

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// CommandsOutput is the output of a template with the commands that close its gaps.
const CommandsOutput = "RemainingCommands"

// CloudFormation returns the document as a template, and the gaps: parts that CloudFormation cannot create.
func (d Document) CloudFormation() ([]byte, []Gap, error) {
	a, err := d.assemble()
	if err != nil {
		return nil, nil, err
	}
	parameters, resources, outputs := map[string]any{}, map[string]any{}, map[string]any{}
	for _, p := range a.Parameters {
		parameters[p.Name] = templateParameter(p, "String")
	}
	for _, n := range a.looked {
		l := a.kinds[n.Kind].lookup(n)
		parameters[l.parameter.Name] = templateParameter(l.parameter, l.parameterType)
	}
	for _, r := range a.order {
		if r.kind.cloudFormation == "" {
			continue
		}
		name := logicalID(r.node.ID)
		if resources[name] != nil || parameters[name] != nil {
			return nil, nil, fmt.Errorf("two resources or parameters are named %s", name)
		}
		resource := map[string]any{"Type": r.kind.cloudFormation, "Properties": a.intrinsic(r.cloudFormation)}
		var dependsOn []string
		for _, id := range r.dependsOn {
			if a.resources[id].kind.cloudFormation != "" {
				dependsOn = append(dependsOn, logicalID(id))
			}
		}
		if len(dependsOn) > 0 {
			resource["DependsOn"] = dependsOn
		}
		resources[name] = resource
	}
	for _, o := range a.Outputs {
		value, ok := o.Value.(string)
		if !ok {
			text, err := json.Marshal(o.Value)
			if err != nil {
				return nil, nil, fmt.Errorf("encoding the output %s: %w", o.Name, err)
			}
			value = string(text)
		}
		outputs[o.Name] = map[string]any{"Description": o.Description, "Value": a.intrinsic(value)}
	}
	var commands []string
	for _, g := range a.gaps {
		if !g.Stays() {
			commands = append(commands, g.command)
		}
	}
	if len(commands) > 0 {
		outputs[CommandsOutput] = map[string]any{
			"Description": "Commands for what CloudFormation cannot do", "Value": a.intrinsic(strings.Join(commands, "\n")),
		}
	}
	template := map[string]any{"AWSTemplateFormatVersion": "2010-09-09", "Description": d.Description, "Resources": resources}
	for name, section := range map[string]map[string]any{"Parameters": parameters, "Outputs": outputs} {
		if len(section) > 0 {
			template[name] = section
		}
	}
	if d.Region != "" {
		template["Rules"] = map[string]any{"Region": map[string]any{"Assertions": []any{map[string]any{
			"Assert":            map[string]any{"Fn::Equals": []any{map[string]any{"Ref": "AWS::Region"}, d.Region}},
			"AssertDescription": "The template is for the region " + d.Region,
		}}}}
	}
	text, err := encode(template)
	if err == nil {
		err = checkLimits(len(text), len(resources), len(outputs))
	}
	return text, a.gaps, err
}

func checkLimits(size, resources, outputs int) error {
	for _, l := range []struct {
		what      string
		have, max int
	}{{"bytes", size, MaxInBucket}, {"resources", resources, maxResources}, {"outputs", outputs, maxOutputs}} {
		if l.have > l.max {
			return fmt.Errorf("the template has %d %s, and CloudFormation accepts at most %d", l.have, l.what, l.max)
		}
	}
	return nil
}

func templateParameter(p Parameter, kind string) map[string]any {
	parameter := map[string]any{"Type": kind, "Description": p.Description}
	if p.Default != "" {
		parameter["Default"] = p.Default
	} else if kind == "String" {
		parameter["MinLength"] = 1
	}
	return parameter
}

// logicalID returns the name of a node in a template: letters and digits.
func logicalID(node string) string {
	var b strings.Builder
	upper := true
	for _, r := range node {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			upper = true
			continue
		}
		if upper {
			r = unicode.ToUpper(r)
		}
		upper = false
		b.WriteRune(r)
	}
	return b.String()
}

// intrinsic replaces the references in a value by intrinsic functions.
func (a *assembly) intrinsic(value any) any {
	switch v := value.(type) {
	case string:
		return a.substitute(v)
	case []string:
		list := make([]any, len(v))
		for i := range v {
			list[i] = a.substitute(v[i])
		}
		return list
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = a.intrinsic(v[i])
		}
		return list
	case map[string]any:
		all := map[string]any{}
		for key, item := range v {
			all[key] = a.intrinsic(item)
		}
		return all
	}
	return value
}

func (a *assembly) substitute(text string) any {
	parts := parse(text)
	var b strings.Builder
	for _, p := range parts {
		if p.kind == "" {
			b.WriteString(strings.ReplaceAll(p.text, "${", "${!"))
			continue
		}
		name, attribute := a.templateName(p)
		if len(parts) == 1 {
			if attribute != "" {
				return map[string]any{"Fn::GetAtt": []any{name, attribute}}
			}
			return map[string]any{"Ref": name}
		}
		if attribute != "" {
			name += "." + attribute
		}
		b.WriteString("${" + name + "}")
	}
	if len(parts) == 0 || len(parts) == 1 {
		return text // without a reference, there is no substitution
	}
	return map[string]any{"Fn::Sub": b.String()}
}

// templateName returns the form of a reference in a template.
func (a *assembly) templateName(p part) (name, attribute string) {
	switch p.kind {
	case toAccount:
		return "AWS::AccountId", ""
	case toPartition:
		return "AWS::Partition", ""
	case toParameter:
		return p.name, ""
	}
	n := a.nodes[p.name]
	k := a.kinds[n.Kind]
	switch {
	case k.idOf != "":
		return logicalID(a.nearest(n, k.idOf)), ""
	case n.Create == nil:
		return k.lookup(n).parameter.Name, ""
	}
	return logicalID(n.ID), k.attribute
}
