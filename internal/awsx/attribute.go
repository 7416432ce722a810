package awsx

// An Attribute of a resource documents what happens when it is changed in AWS by
// others. docs/aws-drift.md has the attributes of all resources.
type Attribute struct {
	// Name as AWS has it.
	Name string
	// Desired is the value that is compared with. Empty if it is not compared.
	Desired string
	// Repair is what repairs a difference.
	Repair string
	// Reason is why the attribute is not compared.
	Reason string
}

// Compared is true if drift of the attribute is found and repaired.
func (a Attribute) Compared() bool { return a.Desired != "" }
