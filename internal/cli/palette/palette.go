// Package palette colours words for terminals.
package palette

// Palette colours text, unless it is Plain.
type Palette bool

const (
	Plain    Palette = false
	Coloured Palette = true
)

// New returns the palette for an output. NO_COLOR, with any value, and terminals without colours get none:
// https://no-color.org
func New(terminal bool, getenv func(string) string) Palette {
	return Palette(terminal && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb")
}

// Good colours text about a good state.
func (p Palette) Good(text string) string { return p.paint("32", text) }

// Warning colours text about a possible problem.
func (p Palette) Warning(text string) string { return p.paint("33", text) }

// Bad colours text about a problem.
func (p Palette) Bad(text string) string { return p.paint("31", text) }

func (p Palette) paint(code, text string) string {
	if p == Plain || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
