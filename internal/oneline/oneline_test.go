package oneline_test

import (
	"testing"

	"github.com/hosted-control-planes/hypershift/internal/oneline"
)

func TestOf(t *testing.T) {
	for text, want := range map[string]string{"a\n\tb": "a b", " a  b ": "a b", "\x1b[31mred\x1b[0m\x00": "[31mred [0m", "": "", "\r\n": "", "ä…": "ä…", "a\xff\xfeb": "a\uFFFDb"} {
		if got := oneline.Of(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestList(t *testing.T) {
	for _, c := range []struct {
		items []string
		want  string
	}{{nil, ""}, {[]string{"b", "a"}, "a, b"}, {[]string{"c", "a", "b"}, "a, b and 1 more"}, {[]string{"d", "c", "b", "a"}, "a, b and 2 more"}} {
		if got := oneline.List(c.items, 2); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
