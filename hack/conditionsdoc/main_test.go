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

func TestPageIsUpToDate(t *testing.T) {
	want, err := render("../..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join("../..", page))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("run 'make generate' and commit %s (-sources +page):\n%s", page, diff)
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

func TestEveryReasonAndConditionIsInABlock(t *testing.T) {
	text, err := render("../..")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../api/hypershift/v1beta1/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parse(t, string(source)), func(n ast.Node) bool {
			constant, ok := n.(*ast.ValueSpec)
			if !ok || len(constant.Values) == 0 || !strings.HasSuffix(constant.Names[0].Name, "Reason") && !strings.HasSuffix(constant.Names[0].Name, "Condition") {
				return true
			}
			word := strings.Trim(constant.Values[0].(*ast.BasicLit).Value, `"`)
			if !strings.Contains(string(text), "- **"+word+"**") {
				t.Errorf("%s: %s is in no block whose comment begins with Condition or Reasons", filepath.Base(name), constant.Names[0].Name)
			}
			return true
		})
	}
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
