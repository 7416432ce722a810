package cli

import "testing"

func TestTextIsNotTakenForRequestsOfRoff(t *testing.T) {
	for text, want := range map[string]string{
		"--plan":           `\-\-plan`,
		`C:\new`:           `C:\enew`,
		"a\n.fi\n'br\n b.": "a\n\\&.fi\n\\&'br\n b.",
	} {
		if got := roff(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
