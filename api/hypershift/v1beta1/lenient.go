package v1beta1

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// One object with a value that its Go type cannot hold (written by an older
// client, or past validation) would fail the decoding of every list that it is
// in, and so stop the informers of an operator for everybody. The kinds of this
// package therefore decode field by field where the whole does not decode: what
// cannot be read is left empty and named by Unreadable, and the controllers
// tell the user and touch nothing.

// unreadable remembers which fields of an object could not be decoded.
// +kubebuilder:object:generate=true
type unreadable struct {
	problem string
}

// Unreadable says in words which fields of the object could not be read, or "".
func (u *unreadable) Unreadable() string { return u.problem }

// decode decodes text into out, whose fields "spec" and "status" may be
// unreadable in part, and returns in words what could not be read.
//
// The targets of out's top-level fields are passed one by one, so that the
// kinds need no reflection: out is a type alias without UnmarshalJSON.
func decode(text []byte, whole any, parts map[string]any) (problem string, err error) {
	if err := utiljson.Unmarshal(text, whole); err == nil {
		return "", nil
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return "", err
	}
	var problems []string
	for name, target := range parts {
		if raw[name] == nil {
			continue
		}
		if err := utiljson.Unmarshal(raw[name], target); err == nil {
			continue
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(raw[name], &fields); err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v", name, err))
			continue
		}
		for field, value := range fields {
			one, err := json.Marshal(map[string]json.RawMessage{field: value})
			if err != nil {
				return "", err
			}
			if err := utiljson.Unmarshal(one, target); err != nil {
				problems = append(problems, fmt.Sprintf("%s.%s: %v", name, field, err))
			}
		}
	}
	sort.Strings(problems)
	return strings.Join(problems, "; "), nil
}
