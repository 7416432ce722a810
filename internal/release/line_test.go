package release

import "testing"

func TestLines(t *testing.T) {
	for v, c := range map[string]struct {
		line      string
		supported bool
	}{
		"1.33.9": {"1.33", false}, "1.34.0": {"1.34", true}, "1.37.2": {"1.37", true}, "1.38.0-alpha.1": {"1.38", false},
		"4.13.0": {"4.13", false}, "4.22.0": {"4.22", false}, "4.34.0": {"4.34", false}, "5.0.0": {"5.0", false},
		"3.11.0": {"", false}, "latest": {"", false},
	} {
		line, known := LineOf(v)
		if known != (c.line != "") || known && line.String() != c.line || line.Supported() != c.supported {
			t.Errorf("%s is of line %s, supported: %t", v, line, line.Supported())
		}
	}
}
