package fakeaws

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// constraintsJSON holds the requirements of AWS's service models on the input of each operation. The SDK checks only that
// required members are there. go test ./test/fakeaws -args -update writes the file.
//
//go:embed constraints.json
var constraintsJSON []byte

// constraints are the constraints of all services, by the prefix of the service in IAM policies.
type constraints struct {
	Services map[string]*serviceConstraints `json:"services"`
}

type serviceConstraints struct {
	Operations map[string]string `json:"operations"` // the shape of the input by operation
	Shapes     map[string]*shape `json:"shapes"`
}

// shape limits a structure, list, map, text or number. Shapes without a limit are left out.
type shape struct {
	Members  map[string]string `json:"members"`
	Required []string          `json:"required"`
	Key      string            `json:"key"`  // of a map
	Item     string            `json:"item"` // of a list or map
	Enum     []string          `json:"enum"`
	Min      *int64            `json:"min"`
	Max      *int64            `json:"max"`
	Pattern  string            `json:"pattern"`

	pattern *regexp.Regexp
	byField map[string]string // Members by the field of the SDK
}

// fieldOf is the field of the SDK for a member of a model.
func fieldOf(member string) string { return strings.ToUpper(member[:1]) + member[1:] }

var models = sync.OnceValue(func() *constraints {
	c := &constraints{}
	if err := json.Unmarshal(constraintsJSON, c); err != nil {
		panic(fmt.Sprintf("fakeaws: constraints.json: %v", err))
	}
	for _, s := range c.Services {
		for _, sh := range s.Shapes {
			sh.byField = map[string]string{}
			for member, below := range sh.Members {
				sh.byField[fieldOf(member)] = below
			}
			if sh.Pattern != "" {
				sh.pattern = regexp.MustCompile("^(?:" + sh.Pattern + ")$")
			}
		}
	}
	return c
})

// violation is something in an input that the model of the service does not allow.
type violation struct {
	kind  string // required, enum, length, range, pattern
	path  string // of the member, such as Tags.1.Value
	words string
}

// violationOf returns the first violation in the input of an operation, or nil.
func violationOf(op *operation, in any) *violation {
	service := models().Services[op.service]
	if service == nil {
		return nil
	}
	return service.check(service.Operations[op.name], reflect.ValueOf(in), "")
}

func (s *serviceConstraints) check(name string, v reflect.Value, path string) *violation {
	limits := s.Shapes[name]
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	if limits == nil {
		return nil
	}
	switch v.Kind() {
	case reflect.Struct:
		return s.checkStructure(limits, v, path)
	case reflect.Slice:
		if found := limits.checkLength(v.Len(), path); found != nil || limits.Item == "" {
			return found
		}
		for i := range v.Len() {
			if found := s.check(limits.Item, v.Index(i), fmt.Sprintf("%s.%d", path, i+1)); found != nil {
				return found
			}
		}
	case reflect.Map:
		if found := limits.checkLength(v.Len(), path); found != nil {
			return found
		}
		for _, key := range v.MapKeys() {
			found := s.check(limits.Key, key, path+".key")
			if found == nil {
				found = s.check(limits.Item, v.MapIndex(key), path+"."+key.String())
			}
			if found != nil {
				return found
			}
		}
	case reflect.String:
		return limits.checkText(v.String(), path)
	case reflect.Int32, reflect.Int64:
		return limits.checkRange(v.Int(), path)
	}
	return nil
}

func (s *serviceConstraints) checkStructure(limits *shape, v reflect.Value, path string) *violation {
	for _, member := range limits.Required {
		if isUnset(v.FieldByName(fieldOf(member))) {
			return &violation{"required", join(path, member), "Member must not be null"}
		}
	}
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if limits.byField[name] == "" || isUnset(v.Field(i)) {
			continue
		}
		if found := s.check(limits.byField[name], v.Field(i), join(path, name)); found != nil {
			return found
		}
	}
	return nil
}

// isUnset reports whether the SDK leaves a field out of the request. A number or truth value that is not a pointer is
// always there, an empty text without a pointer is an enumeration that is not set.
func isUnset(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return v.IsNil()
	case reflect.String:
		return v.Len() == 0
	}
	return false
}

func join(path, member string) string { return strings.TrimPrefix(path+"."+member, ".") }

func (l *shape) checkLength(n int, path string) *violation {
	if found := l.checkRange(int64(n), path); found != nil {
		return &violation{"length", path, strings.Replace(found.words, "value", "length", 1)}
	}
	return nil
}

func (l *shape) checkRange(n int64, path string) *violation {
	switch {
	case l.Min != nil && n < *l.Min:
		return &violation{"range", path, fmt.Sprintf("Member must have value greater than or equal to %d", *l.Min)}
	case l.Max != nil && n > *l.Max:
		return &violation{"range", path, fmt.Sprintf("Member must have value less than or equal to %d", *l.Max)}
	}
	return nil
}

func (l *shape) checkText(text, path string) *violation {
	if len(l.Enum) > 0 && !slices.Contains(l.Enum, text) {
		return &violation{"enum", path, "Member must satisfy enum value set: [" + strings.Join(l.Enum, ", ") + "]"}
	}
	if found := l.checkLength(utf8.RuneCountInString(text), path); found != nil {
		return found
	}
	if l.pattern != nil && !l.pattern.MatchString(text) {
		return &violation{"pattern", path, "Member must satisfy regular expression pattern: " + l.Pattern}
	}
	return nil
}

// refusal is the answer of a service to a request with the violation.
func (v *violation) refusal(service string) error {
	words := fmt.Sprintf("1 validation error detected: Value at '%s' failed to satisfy constraint: %s", v.path, v.words)
	switch service {
	case EC2:
		if v.kind == "required" {
			return ec2Error("MissingParameter", "The request must contain the parameter "+v.path)
		}
		return ec2Error("InvalidParameterValue", fmt.Sprintf("Value for parameter %s is invalid. %s", v.path, v.words))
	case Route53:
		return refused(http.StatusBadRequest, "InvalidInput", words)
	case S3:
		return refused(http.StatusBadRequest, "InvalidArgument", words)
	}
	return refused(http.StatusBadRequest, "ValidationError", words)
}

// ExpectRefused lets the next requests with these names be refused by the service models without failing the test that
// FailOn named. A name is service, operation and code, such as "ec2.CreateVpcEndpoint InvalidParameterValue". The
// returned function returns the names that no request had.
func (c *Cloud) ExpectRefused(names ...string) (missing func() []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expected = append(c.expected, names...)
	return func() []string {
		c.mu.Lock()
		defer c.mu.Unlock()
		missing := c.expected
		c.expected = nil
		return missing
	}
}

// TakeRefused returns the names of the requests that the service models did not allow, and forgets them.
func (c *Cloud) TakeRefused() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	refused := c.refused
	c.refused = nil
	return refused
}

// judge returns the answer to a request that the model of its service does not allow, and fails the test.
func (c *Cloud) judge(op *operation, in any) error {
	found := violationOf(op, in)
	if found == nil {
		return nil
	}
	err := found.refusal(op.service)
	name := fmt.Sprintf("%s.%s %s", op.service, op.name, codeOf(err))
	c.refused = append(c.refused, name)
	if i := slices.Index(c.expected, name); i >= 0 {
		c.expected = slices.Delete(c.expected, i, i+1)
	} else {
		c.complain("AWS would refuse %s: %v", name, err)
	}
	return err
}
