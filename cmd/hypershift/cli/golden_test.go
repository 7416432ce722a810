package cli_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/smithy-go/middleware"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
)

// templateExamples returns the commands of docs/templates.md that print a template, by the name of the golden file.
func templateExamples(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/templates.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for line := range strings.SplitSeq(strings.ReplaceAll(string(text), "\\\n", " "), "\n") {
		command, ok := strings.CutPrefix(line, "    hypershift create ")
		if !ok || !strings.Contains(command, "--render ") {
			continue
		}
		args := strings.Fields(strings.ReplaceAll(command, "$INFRA_ID", "demo-x7k2p"))
		name := args[0] + "-" + args[slices.Index(args, "--render")+1] + ".json"
		if slices.Contains(args, "--enable-proxy") {
			name = "proxy-" + name
		}
		if found[name] != nil {
			t.Fatalf("two examples have the golden file %s", name)
		}
		found[name] = append([]string{"create"}, args...)
	}
	if len(found) != 6 {
		t.Fatalf("the page has %d examples, want one for each language and command, and one with a proxy for each language", len(found))
	}
	return found
}

// The output of an example depends only on the flags, and a change of it is seen in the golden file.
func TestTemplatesOfTheDocumentation(t *testing.T) {
	const folder = "testdata/templates"
	examples := templateExamples(t)
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if examples[file.Name()] == nil {
			t.Errorf("%s is of no example", file.Name())
		}
	}
	for name, args := range examples {
		t.Run(name, func(t *testing.T) {
			var stderr bytes.Buffer
			env := operation.Environment{
				In: strings.NewReader(""), Out: &stderr, Err: &stderr, Clock: clock.RealClock{}, StateHome: t.TempDir(),
				Middleware: []func(*middleware.Stack) error{func(*middleware.Stack) error {
					t.Error("AWS was called")
					return errors.New("no call is expected")
				}},
			}
			into := filepath.Join(t.TempDir(), "template.json")
			args[slices.Index(args, "--render-into")+1] = into
			if code := cli.Run(context.Background(), "hypershift", args, env); code != cli.Done {
				t.Fatalf("exit code %d\n%s", code, stderr.String())
			}
			got, err := os.ReadFile(into)
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join(folder, name)
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s differs: go test ./cmd/hypershift/cli -run TestTemplatesOfTheDocumentation -args -update, and look at it\n%s", golden, got)
			}
		})
	}
}
