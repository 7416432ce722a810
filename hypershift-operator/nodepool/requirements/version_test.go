package requirements

import (
	"strings"
	"testing"

	"github.com/hosted-control-planes/hypershift/internal/validation"
)

func TestCheckSkew(t *testing.T) {
	for name, tc := range map[string]struct{ want, control, have, says string }{
		"the same":                          {"1.36.3", "1.36.3", "", ""},
		"three minors older":                {"1.33.9", "1.36.3", "", ""},
		"four minors older":                 {"1.32.1", "1.36.3", "", "nodes may be 3 minor versions older at most"},
		"a patch newer":                     {"1.36.4", "1.36.3", "", "nodes must not be newer"},
		"a minor newer":                     {"1.37.0", "1.36.3", "", "nodes must not be newer"},
		"a step back to an older minor":     {"1.35.4", "1.36.3", "1.36.1", "would be a step back"},
		"a step back to an older patch":     {"1.36.1", "1.36.3", "1.36.3", ""},
		"a step forward":                    {"1.36.3", "1.36.3", "1.34.0", ""},
		"a version that nobody understands": {"new", "1.36.3", "", "cannot be compared"},
	} {
		t.Run(name, func(t *testing.T) {
			got := validation.Message(checkSkew(tc.want, tc.control, tc.have))
			if tc.says == "" && got != "" || !strings.Contains(got, tc.says) {
				t.Errorf("said %q, want %q", got, tc.says)
			}
		})
	}
}
