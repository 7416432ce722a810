package compactjson

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestShortValuesAndInnermostObjectsAreOneLine(t *testing.T) {
	long := strings.Repeat("x", width)
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"a short object":             {map[string]any{"a": []int{1, 2}, "b": map[string]any{}}, `{"a":[1,2],"b":{}}`},
		"characters of HTML":         {[]string{"a <b> & \"c\""}, `["a <b> & \"c\""]`},
		"a long string":              {long, `"` + long + `"`},
		"a long object":              {map[string]any{"a": long, "b": []int{1}}, `{"a":"` + long + `","b":[1]}`},
		"elements of a long list":    {[]any{nil, long, 1.5, "{"}, "[\n null,\n \"" + long + "\",\n 1.5,\n \"{\"\n]"},
		"a long object in an object": {map[string]any{"a": map[string]string{"b": long}, "c": 1}, "{\n \"a\":{\"b\":\"" + long + "\"},\n \"c\":1\n}"},
		"long objects in a list":     {[]map[string]string{{"a": long}, {"b": long}}, "[\n {\"a\":\"" + long + "\"},\n {\"b\":\"" + long + "\"}\n]"},
		"the longest list of a line": {[]string{long[6:]}, `["` + long[6:] + `"]`},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := Marshal(c.value)
			if err != nil || string(text) != c.want+"\n" {
				t.Fatalf("got %v\n%s\nwant\n%s", err, text, c.want)
			}
			var got, want any
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(c.want), &want); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("it is read as %v, %v", got, err)
			}
		})
	}
}

func TestValuesWithoutJSONAreRejected(t *testing.T) {
	if _, err := Marshal(func() {}); err == nil {
		t.Error("a function is accepted")
	}
}
