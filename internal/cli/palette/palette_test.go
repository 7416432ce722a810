package palette_test

import (
	"testing"

	"github.com/hosted-control-planes/hypershift/internal/cli/palette"
)

func TestColoursAreForTerminalsThatWantThem(t *testing.T) {
	for name, c := range map[string]struct {
		terminal bool
		env      map[string]string
		want     string
	}{
		"a terminal":              {true, map[string]string{"TERM": "xterm"}, "\x1b[31mFalse\x1b[0m"},
		"a file":                  {false, map[string]string{"TERM": "xterm"}, "False"},
		"NO_COLOR":                {true, map[string]string{"NO_COLOR": "1"}, "False"},
		"a terminal without them": {true, map[string]string{"TERM": "dumb"}, "False"},
	} {
		p := palette.New(c.terminal, func(name string) string { return c.env[name] })
		if got := p.Bad("False"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
