package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
)

// withoutExample are commands without an example, with the reason.
var withoutExample = map[string]string{
	"hypershift version": "it has no argument that an example would explain",
}

// runnable returns the commands that do something.
func runnable(c *cobra.Command) (all []*cobra.Command) {
	for _, sub := range c.Commands() {
		if sub.HasSubCommands() {
			all = append(all, runnable(sub)...)
			if !sub.LocalFlags().HasAvailableFlags() {
				continue // a group of commands
			}
		}
		if sub.Runnable() && sub.Name() != "help" {
			all = append(all, sub)
		}
	}
	return all
}

func TestEveryCommandHasAnExampleThatItAccepts(t *testing.T) {
	root := cli.New("hypershift", operation.Environment{})
	seen := map[string]bool{}
	for _, c := range runnable(root) {
		path := c.CommandPath()
		seen[path] = true
		if reason := withoutExample[path]; (reason == "") == (c.Example == "") {
			t.Errorf("%s: example %q, reason for none %q", path, c.Example, reason)
		}
		for line := range strings.Lines(c.Example) {
			line = strings.TrimSuffix(strings.TrimSpace(line), "\\") // a line that is continued
			if !strings.HasPrefix(line, "hypershift ") {
				continue // a command that uses the result
			}
			words := strings.Fields(line)[1:]
			found, rest, err := root.Find(words)
			if err != nil || !strings.HasPrefix(found.CommandPath(), path) {
				t.Errorf("%s: the example %q is of %s: %v", path, line, found.CommandPath(), err)
				continue
			}
			if err := found.ParseFlags(rest); err != nil {
				t.Errorf("%s: the example %q: %v", path, line, err)
			}
		}
	}
	for path := range withoutExample {
		if !seen[path] {
			t.Errorf("%s does not exist", path)
		}
	}
}

func TestManualHasAPageForEachCommand(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	directory := t.TempDir()
	u.must("man", "--output-dir", directory)
	page := func(name string) string {
		text, err := os.ReadFile(filepath.Join(directory, "man1", name+".1"))
		u.try(err)
		return string(text)
	}
	for _, c := range runnable(cli.New("hypershift", operation.Environment{})) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-")
		text := page(name)
		for _, want := range []string{".TH \"", ".SH NAME\n" + strings.ReplaceAll(name, "-", `\-`) + ` \- `, ".SH SYNOPSIS", ".SH EXIT STATUS", `.SH "SEE ALSO"`} {
			if !strings.Contains(text, want) {
				t.Errorf("the page of %s does not contain %q", name, want)
			}
		}
	}
	for _, want := range []string{
		`\fB\-\-infra\-id\fP \fIstring\fP` + "\ninfra ID of the cluster, the prefix of all names (required)", `\fB\-o\fP, \fB\-\-output\fP \fIstring\fP`,
		"addresses of the VPC, a network with a mask of 16 bits (default: 10.0.0.0/16)", "\n.nf\n  hypershift create infra aws \\-\\-infra\\-id demo\\-x7k2p",
		".TP\n\\fB130\\fP\n", `\fBhypershift\-create\-infra\fP(1)`,
	} {
		if text := page("hypershift-create-infra-aws"); !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if !strings.Contains(page("hypershift"), `\fBhypershift\-create\fP(1)`) || strings.Contains(page("hypershift-create-infra-aws"), "aws\\-creds\\fP \\fIstring\\fP\nshared credentials file\n") {
		t.Error("the first page has no commands, or a page has deprecated flags")
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff, which would check the pages, is not installed")
	}
	pages, err := filepath.Glob(filepath.Join(directory, "man1", "*.1"))
	u.try(err)
	for _, path := range pages {
		var problems bytes.Buffer
		c := exec.CommandContext(t.Context(), groff, "-man", "-Tutf8", "-ww", "-z", path)
		c.Stderr = &problems
		if err := c.Run(); err != nil || problems.Len() > 0 {
			t.Errorf("%s: %v %s", filepath.Base(path), err, problems.String())
		}
	}
}
