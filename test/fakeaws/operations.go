package fakeaws

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Services by the prefix they have in IAM policies and in Call.Service.
const (
	EC2     = "ec2"
	ELB     = "elasticloadbalancing"
	Route53 = "route53"
	S3      = "s3"
	STS     = "sts"
)

// operation is a row of the dispatch table.
type operation struct {
	service   string
	name      string
	input     reflect.Type
	write     bool
	anonymous bool  // served without credentials
	unknown   []int // input fields that the fake does not serve: they must be unset
	dryRun    []int // the DryRun field, if the input has one
	serve     func(*request, any) (any, error)
}

var operations = map[reflect.Type]*operation{}

// register adds the operations of a service. Each file registers its own.
func register(service string, rows ...*operation) {
	for _, op := range rows {
		op.service = service
		operations[op.input] = op
	}
}

// read and write make rows. fields are the input fields the handler serves.
func read[I, O any](name string, serve func(*request, *I) (*O, error), fields ...string) *operation {
	in := reflect.TypeFor[I]()
	op := &operation{name: name, input: reflect.PointerTo(in)}
	op.serve = func(q *request, v any) (any, error) {
		out, err := serve(q, v.(*I))
		if err != nil {
			return nil, err // not a typed nil in an interface
		}
		return out, nil
	}
	for _, f := range fields {
		if _, ok := in.FieldByName(f); !ok {
			panic(fmt.Sprintf("%s has no field %s", in, f))
		}
	}
	for i := range in.NumField() {
		f := in.Field(i)
		switch {
		case f.Name == "DryRun":
			op.dryRun = f.Index
		case f.IsExported() && !slices.Contains(fields, f.Name):
			op.unknown = append(op.unknown, i)
		}
	}
	return op
}

func write[I, O any](name string, serve func(*request, *I) (*O, error), fields ...string) *operation {
	op := read(name, serve, fields...)
	op.write = true
	return op
}

// Serves is true if the fake serves an operation of a service.
func Serves(service, name string) bool {
	for _, op := range operations {
		if op.service == service && op.name == name {
			return true
		}
	}
	return false
}

func operationOf(in any) *operation {
	if in == nil {
		return nil
	}
	return operations[reflect.TypeOf(in)]
}

// run serves the call unless it uses fields that the fake does not know.
func (op *operation) run(q *request, in any) (any, error) {
	v := reflect.ValueOf(in).Elem()
	for _, i := range op.unknown {
		if !v.Field(i).IsZero() {
			q.misuse("%s: input field %s is not supported", op.name, v.Type().Field(i).Name)
			return nil, fmt.Errorf("fakeaws: %s: input field %s is not supported", op.name, v.Type().Field(i).Name)
		}
	}
	if op.dryRun != nil && aws.ToBool(v.FieldByIndex(op.dryRun).Interface().(*bool)) {
		return nil, refused(412, "DryRunOperation", "Request would have succeeded, but DryRun flag is set.")
	}
	return op.serve(q, in)
}
