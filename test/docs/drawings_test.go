package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// drawnFile is a file of a package in the drawing of its doc.go. Names with a path are of other packages.
var drawnFile = regexp.MustCompile(`(?:^|[^\w/.*-])([a-z0-9_]+\.go)\b`)

// Drawings in doc.go show newcomers the purpose of each file and each step.
func TestDrawingsNameFilesAndSteps(t *testing.T) {
	files, steps := 0, 0
	for _, module := range []string{"api", "cmd", "config", "control-plane-operator", "hack", "hypershift-operator", "internal", "test"} {
		err := filepath.WalkDir(filepath.Join(root, module), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.Name() != "doc.go" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			dir := filepath.Dir(path)
			for _, match := range drawnFile.FindAllStringSubmatch(string(text), -1) {
				files++
				if _, err := os.Stat(filepath.Join(dir, match[1])); err != nil {
					t.Errorf("%s names %s, which does not exist", path, match[1])
				}
			}
			for _, step := range stepsOf(t, dir) {
				steps++
				if !containsWord(string(text), step) {
					t.Errorf("%s does not name the step %q", path, step)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 100 || steps < 50 {
		t.Errorf("only %d files and %d steps are drawn: the test does not find them", files, steps)
	}
}

// stepsOf returns the names of the steps in the composite literals of a package: those with the fields Name and Run.
func stepsOf(t *testing.T, dir string) (steps []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return strings.HasSuffix(i.Path.Value, `/internal/reconcile"`) }) {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			fields := map[string]ast.Expr{}
			for _, element := range literal.Elts {
				if pair, ok := element.(*ast.KeyValueExpr); ok {
					if key, ok := pair.Key.(*ast.Ident); ok {
						fields[key.Name] = pair.Value
					}
				}
			}
			if name, ok := fields["Name"].(*ast.BasicLit); ok && fields["Run"] != nil {
				if text, err := strconv.Unquote(name.Value); err == nil {
					steps = append(steps, text)
				}
			}
			return true
		})
	}
	return steps
}

func containsWord(text, word string) bool {
	return regexp.MustCompile(`(?:^|[^\w-])` + regexp.QuoteMeta(word) + `(?:$|[^\w-])`).MatchString(text)
}

// The comment of main.go lists the controllers of the process.
func TestMainListsTheControllers(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "control-plane-operator", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, match := range regexp.MustCompile(`(?m)^//\t([a-z]+) {2,}\S`).FindAllStringSubmatch(string(text), -1) {
		listed = append(listed, match[1])
	}
	folders, err := os.ReadDir(filepath.Join(root, "control-plane-operator", "controllers"))
	if err != nil {
		t.Fatal(err)
	}
	var exist []string
	for _, folder := range folders {
		exist = append(exist, folder.Name())
	}
	slices.Sort(listed)
	if !slices.Equal(listed, exist) {
		t.Errorf("main.go lists %v, and controllers has %v", listed, exist)
	}
}
