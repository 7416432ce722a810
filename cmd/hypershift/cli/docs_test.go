package cli_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
)

var update = flag.Bool("update", false, "write the flags in docs/cli.md")

const (
	page   = "../../../docs/cli.md"
	marker = "<!-- The rest of this page is generated: go test ./cmd/hypershift/cli -run TestPage -args -update -->"
)

func TestPageHasAllCommandsAndFlags(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	written, _, found := strings.Cut(string(text), marker)
	if !found {
		t.Fatalf("%s has no line %s", page, marker)
	}
	want := written + marker + "\n" + reference(cli.New("hypershift", operation.Environment{}))
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want != string(text) && !*update {
		t.Errorf("%s is not up to date: go test ./cmd/hypershift/cli -run TestPage -args -update", page)
	}
}

var id = regexp.MustCompile(`\b([a-z]+)-[0-9a-f]{17}\b`)

// checkExample compares the output of a command with the example on the page. Ids of AWS are replaced.
func checkExample(t *testing.T, command, output string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), "    $ "+command+"\n")
	if !found {
		t.Fatalf("%s has no example of %s", page, command)
	}
	written, after, _ := strings.Cut(rest, "\n\n")
	var want []string
	for line := range strings.Lines(id.ReplaceAllString(output, "$1-0123456789abcdef0")) {
		want = append(want, "    "+strings.TrimSuffix(line, "\n"))
	}
	if example := strings.Join(want, "\n"); *update {
		if err := os.WriteFile(page, []byte(before+"    $ "+command+"\n"+example+"\n\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if example != written {
		t.Errorf("the example in %s is\n%s\nand the output\n%s", page, written, example)
	}
}

func reference(c *cobra.Command) string {
	var b strings.Builder
	for _, sub := range c.Commands() {
		if sub.HasSubCommands() {
			b.WriteString(reference(sub))
			if !sub.LocalFlags().HasAvailableFlags() {
				continue // a group of commands
			}
		}
		if !sub.Runnable() || sub.Name() == "help" {
			continue
		}
		fmt.Fprintf(&b, "\n### `%s`\n\n%s.\n\n| Flag | Default | Meaning |\n|---|---|---|\n", sub.CommandPath(), sub.Short)
		sub.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" {
				return
			}
			name := "`--" + f.Name + "`"
			if f.Shorthand != "" {
				name += ", `-" + f.Shorthand + "`"
			}
			value := f.DefValue
			if value == "" || value == "[]" || value == "false" {
				value = ""
			} else {
				value = "`" + value + "`"
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", name, value, strings.ReplaceAll(f.Usage, "|", `\|`))
		})
	}
	return b.String()
}
