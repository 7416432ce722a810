package awstemplate

import (
	"bytes"
	"encoding/json"
	"fmt"

	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// Document is a graph of resources in an account, with its parameters and outputs.
type Document struct {
	Description string
	Nodes       []*rg.Node
	// Region is the only one in which the document can be applied. Empty: any.
	Region     string
	Parameters []Parameter
	Outputs    []Output
}

// Parameter is a value that is not known yet.
type Parameter struct {
	// Name is that in CloudFormation, and Variable that in Terraform.
	Name, Variable string
	Description    string
	// Default: empty means that the reader has to pass a value.
	Default string
}

// Reference refers to the value of the parameter.
func (p Parameter) Reference() string { return reference(toParameter, p.Name) }

// Output is a result.
type Output struct {
	// Name is that in CloudFormation, and Variable that in Terraform.
	Name, Variable string
	Description    string
	// Value is a text, or a struct that is a file of --output-file.
	Value any
}

// Gap is a part of a graph for which CloudFormation has no resource or property.
type Gap struct {
	What, Reason string
	// command of the AWS CLI that closes the gap, with references. Empty: it stays.
	command string
}

// Stays is true if no command closes the gap.
func (g Gap) Stays() bool { return g.command == "" }

// Limits of CloudFormation.
const (
	// MaxInline is the size of a template in a call, and MaxInBucket the size of a template in a bucket, in bytes.
	MaxInline    = 51_200
	MaxInBucket  = 1_000_000
	maxResources = 500
	maxOutputs   = 200
)

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetIndent("", " ") // the size of a template is limited
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding the document: %w", err)
	}
	return b.Bytes(), nil
}

// generic returns a value as maps, lists and scalars.
func generic(v any) (any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encoding an output: %w", err)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, fmt.Errorf("decoding an output: %w", err)
	}
	return value, nil
}
