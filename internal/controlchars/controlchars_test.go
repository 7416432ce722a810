package controlchars

import (
	"slices"
	"testing"
)

func TestFields(t *testing.T) {
	type object struct {
		Name  string            `json:"name,omitempty"`
		Parts []object          `json:"parts,omitempty"`
		Map   map[string]string `json:"map,omitempty"`
	}
	for name, tc := range map[string]struct {
		obj    object
		except []string
		want   []string
	}{
		"text of any language is free":               {obj: object{Name: "größer 日本 \"'$(`"}},
		"a line break is found":                      {obj: object{Name: "a\n[b]"}, want: []string{"name"}},
		"a carriage return, a tab and DEL are found": {obj: object{Parts: []object{{Name: "\r"}, {Name: "a"}, {Name: "\t"}, {Name: "\x7f"}}}, want: []string{"parts[0].name", "parts[2].name", "parts[3].name"}},
		"a key of a map is found, and not repeated":  {obj: object{Map: map[string]string{"a\nb": "c"}}, want: []string{"map"}},
		"a value of a map is found":                  {obj: object{Map: map[string]string{"a": "b\x00"}}, want: []string{"map.a"}},
		"an exempt field is free":                    {obj: object{Name: "a\nb", Parts: []object{{Name: "c\n"}}}, except: []string{"parts"}, want: []string{"name"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Fields(tc.obj, tc.except...)
			if err != nil || !slices.Equal(got, tc.want) {
				t.Errorf("got %q, %v, want %q", got, err, tc.want)
			}
		})
	}
}
