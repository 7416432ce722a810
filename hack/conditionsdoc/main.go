// Conditionsdoc writes docs/conditions.md from the comments of the constants: each block of constants that speaks of condition
// types or reasons becomes a section, each constant a line. What a user reads cannot drift from what a developer reads.
package main

import (
	"bytes"
	"fmt"
	"os"
)

// source is a package with blocks of constants that belong on the page.
type source struct {
	dir string
	// begins is how the comments of these blocks begin.
	begins []string
	// title stands in the place of a comment that was written for another reader.
	title string
}

// sources are read in this order; types come before reasons.
var sources = []source{
	{dir: "api/hypershift/v1beta1", begins: []string{"Condition"}},
	{dir: "api/hypershift/v1beta1", begins: []string{"Reasons"}},
	{dir: "internal/awsx", begins: []string{"The kinds"}, title: "Reasons that stand for an error of AWS"},
}

const page = "docs/conditions.md"

const introduction = `# Conditions and their reasons

Every object of ours says in its conditions how it is. A condition has a type, a status (True, False or Unknown), a reason, which is
one word, and a message in words. True is good unless a line here says otherwise. Unknown means that nobody could look; it is not
False. A condition that an object does not show is one that this version does not judge yet: the page has those of the whole API.
It is made from the sources by ` + "`make generate`" + `.
`

func main() {
	text, err := render(".")
	if err == nil {
		err = os.WriteFile(page, text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "writing "+page+":", err)
		os.Exit(1)
	}
}

// render returns the page for the repository at root.
func render(root string) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(introduction)
	for _, src := range sources {
		blocks, err := src.read(root)
		if err != nil {
			return nil, err
		}
		for _, b := range blocks {
			fmt.Fprintf(&out, "\n## %s\n\n", b.title)
			if b.text != "" {
				fmt.Fprintf(&out, "%s\n\n", b.text)
			}
			for _, l := range b.lines {
				fmt.Fprintf(&out, "- **%s**%s\n", l.word, l.text)
			}
		}
	}
	return out.Bytes(), nil
}
