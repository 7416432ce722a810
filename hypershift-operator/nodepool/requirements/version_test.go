package requirements

import (
	"strings"
	"testing"

	"github.com/hosted-control-planes/hypershift/internal/validation"
)

func TestCheckSkew(t *testing.T) {
	for name, tc := range map[string]struct{ want, control, have, refused string }{
		"the same version is supported":               {"1.36.3", "1.36.3", "", ""},
		"three minors older are supported":            {"1.33.9", "1.36.3", "", ""},
		"four minors older are refused":               {"1.32.1", "1.36.3", "", "nodes may be 3 minor versions older at most"},
		"a newer patch is refused":                    {"1.36.4", "1.36.3", "", "nodes must not be newer"},
		"a newer minor is refused":                    {"1.37.0", "1.36.3", "", "nodes must not be newer"},
		"a step back to an older minor is refused":    {"1.35.4", "1.36.3", "1.36.1", "would be a step back"},
		"a step back to an older patch is supported":  {"1.36.1", "1.36.3", "1.36.3", ""},
		"a step forward is supported":                 {"1.36.3", "1.36.3", "1.34.0", ""},
		"a version that cannot be parsed is an error": {"new", "1.36.3", "", "cannot be compared"},
	} {
		t.Run(name, func(t *testing.T) {
			got := validation.Message(checkSkew(tc.want, tc.control, tc.have))
			if tc.refused == "" && got != "" || !strings.Contains(got, tc.refused) {
				t.Errorf("got %q, want %q", got, tc.refused)
			}
		})
	}
}
