package awsx

import "reflect"

// An Attribute of a resource documents the effect of a change that is made in AWS by
// others. docs/aws-drift.md lists the attributes of all resources.
type Attribute struct {
	// Name as AWS has it.
	Name string
	// Desired is the value that is compared with. Empty if it is not compared.
	Desired string
	// Repair names the call that repairs a difference.
	Repair string
	// Reason is why the attribute is not compared.
	Reason string
}

// Compared is true if drift of the attribute is found and repaired.
func (a Attribute) Compared() bool { return a.Desired != "" }

// A ComparedAttribute is repaired by a call with the input In.
type ComparedAttribute[Spec, Observed, In any] struct {
	Attribute
	// Diff sets the fields of in that change the attribute from observed to spec.
	Diff func(spec Spec, observed Observed, in *In)
}

// Diff returns the input of the call that turns the attributes of observed into the attributes of spec. It returns nil for no
// difference.
func Diff[Spec, Observed, In any](attributes []ComparedAttribute[Spec, Observed, In], spec Spec, observed Observed) *In {
	in := new(In)
	for _, a := range attributes {
		a.Diff(spec, observed, in)
	}
	if reflect.ValueOf(*in).IsZero() {
		return nil
	}
	return in
}

// Attributes returns the documentation of compared attributes.
func Attributes[Spec, Observed, In any](groups ...[]ComparedAttribute[Spec, Observed, In]) []Attribute {
	var all []Attribute
	for _, group := range groups {
		for _, a := range group {
			all = append(all, a.Attribute)
		}
	}
	return all
}
