package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/version"
)

// exitCodes are the exit codes of all commands, in the order of the manual.
var exitCodes = []struct {
	code    int
	meaning string
}{
	{Done, "Everything is as desired, or nothing is left."},
	{Failed, "Something failed. The same command continues."},
	{Usage, "The command line is not correct. No writing call was made."},
	{Changes, "--plan has found something to do."},
	{Remaining, "Everything was deleted except for what the command lists."},
	{Interrupted, "Interrupted. The same command continues."},
}

func newMan(env operation.Environment) *cobra.Command {
	var directory string
	var c *cobra.Command
	c = operation.Command("man", "Write the manual pages of all commands", "The pages are for man(1). They are written to the subdirectory man1, so that the directory can be a part of MANPATH.",
		func(context.Context) error {
			if directory == "" {
				return &operation.UsageError{Err: errors.New("--output-dir: Required value")}
			}
			return writeManual(env, c.Root(), directory)
		})
	c.Example = "  hypershift man --output-dir ~/.local/share/man\n  man hypershift-create-cluster-aws"
	c.Flags().StringVar(&directory, "output-dir", "", "directory for the pages (required)")
	return c
}

func writeManual(env operation.Environment, root *cobra.Command, directory string) error {
	directory = filepath.Join(directory, "man1")
	if err := os.MkdirAll(directory, 0o755); err != nil { //nolint:gosec // every user may read the manual
		return fmt.Errorf("creating --output-dir: %w", err)
	}
	root.InitDefaultCompletionCmd()
	pages := 0
	for _, c := range allCommands(root) {
		if err := os.WriteFile(filepath.Join(directory, manName(c)+".1"), []byte(manPage(c)), 0o644); err != nil { //nolint:gosec // every user may read the manual
			return fmt.Errorf("writing a page: %w", err)
		}
		pages++
	}
	fmt.Fprintf(env.Err, "wrote %d pages to %s\n", pages, directory)
	return nil
}

// allCommands returns a command and those below it.
func allCommands(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			all = append(all, allCommands(sub)...)
		}
	}
	return all
}

func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// roff writes text that is not to be interpreted: hyphens stay hyphens, and a line that starts with a dot is no request.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

func manPage(c *cobra.Command) string {
	var b strings.Builder
	section := func(title string) { fmt.Fprintf(&b, ".SH %s\n", title) }
	fmt.Fprintf(&b, ".TH \"%s\" \"1\" \"\" \"%s\" \"%s\"\n", roff(strings.ToUpper(manName(c))), roff("hypershift "+version.Get().Version), roff("hypershift manual"))
	section("NAME")
	fmt.Fprintf(&b, "%s \\- %s\n", roff(manName(c)), roff(c.Short))
	section("SYNOPSIS")
	fmt.Fprintf(&b, "\\fB%s\\fP\n", roff(c.UseLine()))
	section("DESCRIPTION")
	// An empty line separates paragraphs. Other lines are filled.
	for i, paragraph := range strings.Split(strings.TrimSpace(c.Short+".\n\n"+c.Long), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		b.WriteString(roff(paragraph) + "\n")
	}
	if subs := c.Commands(); len(subs) > 0 {
		section("COMMANDS")
		for _, sub := range subs {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, ".TP\n\\fB%s\\fP(1)\n%s\n", roff(manName(sub)), roff(sub.Short))
			}
		}
	}
	if flags := c.NonInheritedFlags(); flags.HasAvailableFlags() {
		section("OPTIONS")
		flags.VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" {
				return
			}
			name := `\fB` + roff("--"+f.Name) + `\fP`
			if f.Shorthand != "" {
				name = `\fB` + roff("-"+f.Shorthand) + `\fP, ` + name
			}
			if kind := f.Value.Type(); kind != "bool" {
				name += ` \fI` + roff(kind) + `\fP`
			}
			usage := f.Usage
			value := f.DefValue
			if f.Value.Type() == "stringSlice" { // a list without spaces is a word that fits on no line
				value = strings.ReplaceAll(strings.Trim(value, "[]"), ",", ", ")
			}
			if value != "" && value != "[]" && value != "false" && !strings.Contains(usage, "(default") {
				usage += " (default: " + value + ")"
			}
			fmt.Fprintf(&b, ".TP\n%s\n%s\n", name, roff(usage))
		})
	}
	if c.Example != "" {
		section("EXAMPLES")
		fmt.Fprintf(&b, ".nf\n%s\n.fi\n", roff(strings.TrimRight(c.Example, "\n")))
	}
	section("EXIT STATUS")
	for _, e := range exitCodes {
		fmt.Fprintf(&b, ".TP\n\\fB%d\\fP\n%s\n", e.code, roff(e.meaning))
	}
	if c.HasParent() {
		section(`"SEE ALSO"`)
		fmt.Fprintf(&b, "\\fB%s\\fP(1)\n", roff(manName(c.Parent())))
	}
	return b.String()
}
