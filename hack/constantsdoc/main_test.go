package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPagesAreUpToDate(t *testing.T) {
	for _, p := range pages {
		want, err := p.render("../..")
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("../..", p.path))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("run 'make generate' and commit %s (-sources +page):\n%s", p.path, diff)
		}
	}
}

func TestAConstantIsDocumented(t *testing.T) {
	for name, c := range map[string]struct{ source, wantErr string }{
		"with its name first":          {source: "// Reasons of it.\nconst (\n// A: do this.\nA = \"Word\"\n)"},
		"without a comment":            {source: "// Reasons of it.\nconst (\nA = \"Word\"\n)", wantErr: "A has no comment"},
		"with a comment about another": {source: "// Reasons of it.\nconst (\n// B: do this.\nA = \"Word\"\n)", wantErr: "A has no comment"},
		"unless it is no reason":       {source: "// Names of it.\nconst (\nA = \"Word\"\n)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := source{begins: []string{"Reasons"}}.blocks(parse(t, c.source))
			if (err != nil) != (c.wantErr != "") || err != nil && !strings.Contains(err.Error(), c.wantErr) {
				t.Errorf("got error %v, want %q", err, c.wantErr)
			}
		})
	}
}

func TestAConditionIsFollowedByTheStateInWhichItIsTrue(t *testing.T) {
	const file = "// Conditions of it.\nconst (\n// A is True when it runs. If False, start it.\nA = \"Up\"\n// B is True while it runs.\nB = \"Busy\"\n)"
	blocks, err := source{begins: []string{"Conditions"}}.blocks(parse(t, file))
	if err != nil {
		t.Fatal(err)
	}
	var got string
	for _, l := range blocks[0].lines {
		got += l.word + l.text + "\n"
	}
	if want := "Up: it runs. If False, start it.\nBusy is True while it runs.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEveryConstantIsOnItsPage(t *testing.T) {
	for _, c := range []struct {
		path   string
		begins string
		is     func(name string) bool
	}{
		{"docs/conditions.md", "Condition or Reasons", func(name string) bool {
			return strings.HasSuffix(name, "Reason") || strings.HasSuffix(name, "Condition")
		}},
		{"docs/annotations.md", "Annotations", func(name string) bool { return strings.Contains(name, "Annotation") }},
	} {
		text, err := os.ReadFile(filepath.Join("../..", c.path))
		if err != nil {
			t.Fatal(err)
		}
		eachConstant(t, func(name, word, _ string) {
			if c.is(name) && !strings.Contains(string(text), "- **"+word+"**") {
				t.Errorf("%s is in no block whose comment begins with %s", name, c.begins)
			}
		})
	}
}

// eachConstant calls do with the names, values and blocks of the constants of the API that are strings.
func eachConstant(t *testing.T, do func(name, word, block string)) {
	t.Helper()
	eachFile(t, "../../api/hypershift/v1beta1", func(file *ast.File) {
		for _, decl := range file.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok || d.Tok != token.CONST {
				continue
			}
			for _, spec := range d.Specs {
				constant := spec.(*ast.ValueSpec)
				if len(constant.Values) == 0 || !constant.Names[0].IsExported() {
					continue
				}
				if literal, ok := constant.Values[0].(*ast.BasicLit); ok {
					do(constant.Names[0].Name, strings.Trim(literal.Value, `"`), d.Doc.Text())
				}
			}
		}
	})
}

func parse(t *testing.T, source string) *ast.File {
	t.Helper()
	if !strings.Contains(source, "package ") {
		source = "package p\n" + source
	}
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return file
}
