package logs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// reserved are the keys that controller-runtime adds to each line of a reconcile. A second one makes the JSON of the line ambiguous:
// Elasticsearch refuses such a line, and other programs keep one of the values.
var reserved = []string{"controller", "controllerGroup", "controllerKind", "name", "namespace", "reconcileID", "level", "ts", "logger", "msg", "stacktrace"}

func TestLinesHaveNoKeyTwice(t *testing.T) {
	calls := 0
	for _, dir := range []string{"hypershift-operator", "control-plane-operator", "internal"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, keys := keysOf(n)
				if call == nil {
					return true
				}
				calls++
				for i, key := range keys {
					if slices.Contains(reserved, key) || slices.Contains(keys[:i], key) {
						t.Errorf("%s: the key %q is on the line already", files.Position(call.Pos()), key)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if calls < 20 {
		t.Errorf("only %d calls were found", calls)
	}
}

// keysOf returns the keys of a call of a logger, and nil for anything else.
func keysOf(n ast.Node) (*ast.CallExpr, []string) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return nil, nil
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Info", "Error", "WithValues"}, method.Sel.Name) {
		return nil, nil
	}
	first := map[string]int{"Info": 1, "Error": 2, "WithValues": 0}[method.Sel.Name]
	var keys []string
	for i := first; i < len(call.Args); i += 2 {
		literal, ok := call.Args[i].(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			continue
		}
		if key, err := strconv.Unquote(literal.Value); err == nil {
			keys = append(keys, key)
		}
	}
	return call, keys
}
