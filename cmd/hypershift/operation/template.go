package operation

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awstemplate"
)

// Template holds the flags with which a command prints a document that creates its resources, instead of creating them.
type Template struct {
	language string
	file     string
}

const (
	cloudFormation = "cloudformation"
	terraform      = "terraform"
)

// TemplateLanguages are the values of --render.
var TemplateLanguages = []string{cloudFormation, terraform}

// Flags adds the flags to a command.
func (t *Template) Flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&t.language, "render", "", "print a template that creates the resources, instead of creating them: cloudformation or terraform (needs --region)")
	f.StringVar(&t.file, "render-into", "", "file for the template of --render (default: standard output)")
}

// Wanted is true if the command prints a document.
func (t *Template) Wanted() bool { return t.language != "" || t.file != "" }

// Check returns an error for flags that a document cannot have.
func (t *Template) Check(o Options, v VPCOwner) error {
	switch {
	case !slices.Contains(TemplateLanguages, t.language):
		return &UsageError{Err: errors.New("--render must be cloudformation or terraform")}
	case o.Plan:
		return &UsageError{Err: errors.New("--render and --plan exclude each other")}
	case v != VPCOwner{}:
		return &UsageError{Err: errors.New("--render has no template for a shared VPC: its resources are in two accounts")}
	case o.Region == "":
		return &UsageError{Err: errors.New("--render needs --region: it makes no call, and its output depends on the flags only")}
	}
	return nil
}

// Write writes the document.
func (t *Template) Write(env Environment, d awstemplate.Document) error {
	text, err := t.render(env, d)
	if err != nil {
		return err
	}
	if t.file == "" {
		if _, err := env.Out.Write(text); err != nil {
			return fmt.Errorf("writing the template: %w", err)
		}
		return nil
	}
	if err := os.WriteFile(t.file, text, 0o644); err != nil { //nolint:gosec // a template without secrets
		return fmt.Errorf("writing --render-into: %w", err)
	}
	fmt.Fprintf(env.Err, "wrote %s\n", t.file)
	return nil
}

func (t *Template) render(env Environment, d awstemplate.Document) ([]byte, error) {
	if t.language == terraform {
		return d.Terraform()
	}
	text, gaps, err := d.CloudFormation()
	if err != nil {
		return nil, err
	}
	if len(gaps) > 0 {
		fmt.Fprintln(env.Err, "CloudFormation cannot do all:")
	}
	for _, g := range gaps {
		then := "run the commands in the output " + awstemplate.CommandsOutput + " of the stack"
		if g.Stays() {
			then = "nothing is left to do"
		}
		fmt.Fprintf(env.Err, "  %s: %s; %s\n", g.What, g.Reason, then)
	}
	if len(text) > awstemplate.MaxInline {
		fmt.Fprintf(env.Err, "the template has %d bytes: CloudFormation accepts more than %d only from a bucket (`aws cloudformation deploy --s3-bucket`)\n",
			len(text), awstemplate.MaxInline)
	}
	return text, nil
}
