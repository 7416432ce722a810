package v1beta1

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// An object with a value that its Go type cannot hold (written by an older client, or without validation) would make
// the decoding of every list with this object fail. It would stop the informers of an operator for all clusters. The
// types of this package therefore decode field by field if the whole object cannot be decoded. A field that cannot be
// decoded stays empty and is listed by Unreadable. The controllers report it to the user and change nothing.

// unreadable records the fields of an object that could not be decoded.
// +kubebuilder:object:generate=true
type unreadable struct {
	problem string
}

// Unreadable returns a message with the fields of the object that could not be decoded, or "".
func (u *unreadable) Unreadable() string { return u.problem }

// decode decodes text into out. The fields "spec" and "status" of out may be decoded partially. It returns a message
// with the fields that could not be decoded.
//
// The caller passes the top-level fields of out in parts, so that no reflection is needed: out is a type alias
// without UnmarshalJSON.
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
