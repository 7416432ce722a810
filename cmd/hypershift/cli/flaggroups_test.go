package cli_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
)

func TestManyFlagsAreListedBySubject(t *testing.T) {
	grouped := 0
	for _, c := range commands(cli.New("hypershift", operation.Environment{})) {
		help := c.UsageString()
		if !strings.Contains(help, "The command itself:\n") {
			if count := strings.Count(help, "\n      --"); count > 25 {
				t.Errorf("%s lists %d flags without subjects", c.CommandPath(), count)
			}
			continue
		}
		grouped++
		if _, rest, others := strings.Cut(help, "Other flags:\n"); others {
			t.Errorf("%s has flags without a subject:\n%s", c.CommandPath(), rest)
		}
	}
	if grouped == 0 {
		t.Error("no command has its flags by subject")
	}
}

// The word in backquotes is the type of the value in help.
func TestNoFlagHasACommandAsItsType(t *testing.T) {
	for _, c := range commands(cli.New("hypershift", operation.Environment{})) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if kind, _ := pflag.UnquoteUsage(f); strings.Contains(kind, " ") {
				t.Errorf("%s: --%s has a value of the type %q", c.CommandPath(), f.Name, kind)
			}
		})
	}
}

func commands(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		all = append(all, commands(sub)...)
	}
	return all
}
