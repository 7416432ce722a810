package yamlsize

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// bomb returns an anchor with a string of a size, and a number of aliases.
func bomb(size, aliases int) string {
	return "x: &a " + strings.Repeat("s", size) + "\ny: [" + strings.Repeat("*a,", aliases) + "]\n"
}

// nested doubles a string at every level.
func nested(levels int) string {
	text := "l0: &l0 sssssssssssssssss\n"
	for i := range levels {
		text += fmt.Sprintf("l%d: &l%d [*l%d, *l%d]\n", i+1, i+1, i, i)
	}
	return text
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		ok   bool
	}{
		"no alias":                        {strings.Repeat("s", 2*Limit), true},
		"a few aliases":                   {bomb(100, 100), true},
		"a merged mapping":                {"a: &a {b: c}\nd: {<<: *a}", true},
		"an asterisk that is no alias":    {"command: 'ls *'", true},
		"many aliases of a large string":  {bomb(200_000, 5_000), false},
		"aliases of lists of aliases":     {nested(30), false},
		"a list that contains itself":     {"a: &a [*a]", false},
		"an alias without an anchor":      {"a: *b", false},
		"a bomb in the second document":   {"a: '*'\n---\n" + bomb(200_000, 5_000), true},
		"a mapping with itself as a key":  {"&a {*a : b}", false},
		"a bomb that is merged into maps": {"a: &a {k: " + strings.Repeat("s", 100_000) + "}\nb: [" + strings.Repeat("{<<: *a},", 100) + "]", false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := Check([]byte(c.text)); (err == nil) != c.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Accepted text is read into JSON that is not much larger.
func FuzzCheck(f *testing.F) {
	for _, text := range []string{bomb(20_000, 1_000), nested(4), nested(16), "a: &a {b: [1, 0x2f, 2026-01-01, ~, \"\\x00\"]}\nc: {<<: *a, d: *a}", "- !!binary |\n  AAAA\n- *", "%YAML 1.1\n---\na: |\n  *b\n..."} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > Limit || Check(text) != nil {
			return
		}
		// One byte may become six, such as \u0001, and an empty value becomes null.
		if read, err := yaml.YAMLToJSON(text); err == nil && len(read) > 8*(Limit+len(text)) {
			t.Errorf("%d bytes become %d", len(text), len(read))
		}
	})
}
