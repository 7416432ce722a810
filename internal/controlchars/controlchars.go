// Package controlchars finds strings with control characters, such as line breaks.
//
// Values of an object are written into flags, units of systemd and configuration files of many formats. A line break in one
// of them could add a section or an option that its author may not set. Such a value is refused where it is read and, as a
// second line of defence, where a file is written.
package controlchars

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// In reports whether a text contains a control character.
func In(text string) bool { return strings.ContainsFunc(text, unicode.IsControl) }

// Fields returns the paths of the strings of obj, including keys of maps, that have a control character, in order. Paths
// below one of except may have them.
func Fields(obj any, except ...string) ([]string, error) {
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", obj, err)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, fmt.Errorf("decoding %T: %w", obj, err)
	}
	f := finder{except: except}
	f.visit("", value)
	return f.found, nil
}

type finder struct{ found, except []string }

func (f *finder) visit(path string, value any) {
	if slices.Contains(f.except, path) {
		return
	}
	switch v := value.(type) {
	case string:
		if In(v) {
			f.found = append(f.found, path)
		}
	case []any:
		for i, e := range v {
			f.visit(fmt.Sprintf("%s[%d]", path, i), e)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if In(key) {
				f.found = append(f.found, path) // a message must not contain the key itself
				continue
			}
			f.visit(strings.TrimPrefix(path+"."+key, "."), v[key])
		}
	}
}
