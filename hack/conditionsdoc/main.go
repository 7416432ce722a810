// Conditionsdoc generates docs/conditions.md from the comments of constants. Each block of constants with condition types or
// reasons becomes a section, and each constant a line. Users and developers read the same text.
package main

import (
	"bytes"
	"fmt"
	"os"
)

// source is a package with constants for the page.
type source struct {
	dir string
	// begins lists the first words of the comments of these blocks.
	begins []string
	// title replaces the comment of the block, if it is set.
	title string
}

// sources are read in this order: types before reasons.
var sources = []source{
	{dir: "api/hypershift/v1beta1", begins: []string{"Condition"}},
	{dir: "api/hypershift/v1beta1", begins: []string{"Reasons"}},
	{dir: "internal/awsx", begins: []string{"The kinds"}, title: "Reasons for errors of AWS"},
}

const page = "docs/conditions.md"

const introduction = `# Conditions and their reasons

The conditions of an object report its state. A condition has a type, a status (True, False or Unknown), a reason, which is one
word, and a message. True is good unless the description below differs. Unknown means that the state could not be determined. It is
not the same as False. This page lists the conditions of the whole API. If an object does not have one of them, this version does
not evaluate it yet. This page is generated from the sources by ` + "`make generate`" + `.
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
