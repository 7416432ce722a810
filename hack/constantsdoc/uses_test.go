package main

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

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

const apiPackage = "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"

// TestEveryConditionHasAWriter fails for a condition of the page that no program sets, and for a reason that none gives: users
// would wait for it for ever.
func TestEveryConditionHasAWriter(t *testing.T) {
	written, all := map[string]bool{}, 0
	eachProgramFile(t, func(_ string, file *ast.File) { collectUses(file, written, reads) })
	eachConstant(t, func(name, _, block string) {
		if !strings.HasPrefix(block, "Condition") && !strings.HasPrefix(block, "Reasons") {
			return
		}
		if all++; !written[name] && !written[sameOnControlPlane[name]] {
			t.Errorf("no program sets %s: remove it from the API, or set it", name)
		}
	})
	if all < 200 {
		t.Errorf("the API has only %d conditions and reasons", all)
	}
}

// sameOnControlPlane are the conditions of a HostedCluster that are copied from conditions of another name of its HostedControlPlane.
var sameOnControlPlane = map[string]string{"HostedClusterDegraded": "HostedControlPlaneDegraded"}

// TestEveryAnnotationHasAReader fails for an annotation of the page that no program reads or writes. That the hypershift-operator
// copies it to the HostedControlPlane is not enough.
func TestEveryAnnotationHasAReader(t *testing.T) {
	used, all := map[string]bool{}, 0
	eachProgramFile(t, func(path string, file *ast.File) {
		if !strings.HasSuffix(path, "hypershift-operator/hostedcluster/controlplane/annotations.go") && !strings.HasSuffix(path, "internal/validation/annotations.go") {
			collectUses(file, used, func(ast.Expr, []ast.Node) bool { return false })
		}
	})
	known := append(hyperv1.AnnotationsOfHostedClusters(), hyperv1.AnnotationsOfNodePools()...)
	eachConstant(t, func(name, word, block string) {
		if !strings.HasPrefix(block, "Annotations") {
			return
		}
		if all++; !used[name] {
			t.Errorf("no program reads %s: add it to UnsupportedAnnotations", name)
		}
		ofUsers := strings.HasPrefix(block, "Annotations of a HostedCluster ") || strings.HasPrefix(block, "Annotations of a NodePool")
		if ofUsers && strings.Contains(word, "/") && !slices.Contains(known, word) {
			t.Errorf("%s is in neither AnnotationsOfHostedClusters nor AnnotationsOfNodePools: SupportedFields would list it", name)
		}
	})
	if all < 40 {
		t.Errorf("the API has only %d annotations", all)
	}
}

func TestAUseIsAWriterUnlessItReads(t *testing.T) {
	for name, c := range map[string]struct {
		source string
		writes bool
	}{
		"a condition that is set":           {`func f() { c.Set(hyperv1.X, "True") }`, true},
		"the type of a condition":           {`var c = metav1.Condition{Type: hyperv1.X}`, true},
		"the condition of a step":           {`var s = Step{Condition: hyperv1.X}`, true},
		"an assignment":                     {`func f() { c.Type = hyperv1.X }`, true},
		"an argument of a constructor":      {`func f() { return f.is(True, hyperv1.X, "") }`, true},
		"another name":                      {`const condition = hyperv1.X`, true},
		"the key of a table of functions":   {`var t = map[string]func(){hyperv1.X: set}`, true},
		"a condition that is looked for":    {`func f() { c := meta.FindStatusCondition(list, hyperv1.X) }`, false},
		"a condition that is read":          {`func f() { c.Get(hyperv1.X) }`, false},
		"a condition that is removed":       {`func f() { c.Remove(hyperv1.X) }`, false},
		"a comparison":                      {`func f() bool { return c.Reason != hyperv1.X }`, false},
		"a case":                            {`func f() { switch c.Reason { case hyperv1.X: } }`, false},
		"a list":                            {`var list = []string{hyperv1.X}`, false},
		"a list in a call":                  {`func f() { s.Derive(set, append([]string{hyperv1.X}, more...)) }`, false},
		"a table of what is copied":         {`var mirrored = []mirroredCondition{{hyperv1.X, never}}`, false},
		"a table of what is good":           {`var t = map[string]Status{hyperv1.X: metav1.ConditionTrue}`, false},
		"the constant of another package":   {`func f() { c.Set(other.X, "True") }`, false},
		"a condition that is set in a list": {`var t = []struct{condition string}{{hyperv1.X, "what"}}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			file := parse(t, "package p\nimport hyperv1 \""+apiPackage+"\"\n"+c.source)
			written := map[string]bool{}
			collectUses(file, written, reads)
			if written["X"] != c.writes {
				t.Errorf("writes: %t, want %t", written["X"], c.writes)
			}
		})
	}
}

// eachProgramFile parses the files of the programs.
func eachProgramFile(t *testing.T, do func(path string, file *ast.File)) {
	t.Helper()
	for _, dir := range []string{"control-plane-operator", "hypershift-operator", "internal"} {
		walk(t, filepath.Join("../..", dir), do)
	}
}

// eachFile parses the files of a folder.
func eachFile(t *testing.T, dir string, do func(*ast.File)) {
	t.Helper()
	walk(t, dir, func(_ string, file *ast.File) { do(file) })
}

// walk parses the files of a folder and of those below it that are no tests.
func walk(t *testing.T, dir string, do func(path string, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err == nil {
			do(path, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// getters are functions that read the condition of their argument, or remove it.
var getters = []string{
	"FindStatusCondition", "IsStatusConditionTrue", "IsStatusConditionFalse", "RemoveStatusCondition",
	"Get", "Before", "IsTrue", "Remove", "Derive", "Contains", "condition", "before", "reported", "isStale", "fromSteps", "newTransitions",
}

// collectUses adds the constants of the API that a file uses, except where the use is to be skipped.
func collectUses(file *ast.File, used map[string]bool, skip func(use ast.Expr, stack []ast.Node) bool) {
	alias := ""
	for _, i := range file.Imports {
		if path, _ := strconv.Unquote(i.Path.Value); path == apiPackage {
			if alias = "v1beta1"; i.Name != nil {
				alias = i.Name.Name
			}
		}
	}
	if alias == "" {
		return
	}
	var stack []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == alias && !skip(sel, stack) {
				used[sel.Sel.Name] = true
			}
		}
		stack = append(stack, n)
		return true
	})
}

// reads reports whether a use of a condition or reason only reads: it is in a call of a getter, a comparison, a list of strings,
// or a table of copied, needed or good conditions. The stack holds the nodes around the use.
func reads(use ast.Expr, stack []ast.Node) bool {
	inner := ast.Node(use)
	for _, outer := range slices.Backward(stack) {
		switch outer := outer.(type) {
		case *ast.BinaryExpr:
			return outer.Op == token.EQL || outer.Op == token.NEQ
		case *ast.CaseClause:
			return slices.ContainsFunc(outer.List, func(e ast.Expr) bool { return e == inner })
		case *ast.KeyValueExpr:
			if inner == outer.Key {
				value, ok := outer.Value.(*ast.SelectorExpr)
				return ok && strings.HasPrefix(value.Sel.Name, "Condition")
			}
			return false
		case *ast.CallExpr:
			return slices.Contains(getters, nameOf(outer.Fun)) && inner != outer.Fun
		case *ast.CompositeLit:
			if array, ok := outer.Type.(*ast.ArrayType); ok && nameOf(array.Elt) == "string" {
				return true
			}
		case *ast.ValueSpec:
			return slices.Contains([]string{"mirrored", "needed"}, outer.Names[0].Name)
		case *ast.FuncDecl, *ast.FuncLit:
			return false
		}
		inner = outer
	}
	return false
}

func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
