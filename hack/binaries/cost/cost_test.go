package cost

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hosted-control-planes/hypershift/hack/binaries/gobuild"
)

// newModules writes a library that imports a base, and two programs that import the library.
func newModules(t *testing.T, firstBase, secondBase string) []Build {
	t.Helper()
	dir := t.TempDir()
	write := func(name, content string) {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("base/go.mod", "module example.test/base\n\ngo 1.26.0\n")
	write("base/base.go", "package base\n")
	write("library/go.mod", "module example.test/library\n\ngo 1.26.0\n\nrequire example.test/base v1.0.0\n")
	write("library/library.go", "package library\n\nimport _ \"example.test/base\"\n")
	var builds []Build
	for _, program := range []struct{ name, base string }{{"first", firstBase}, {"second", secondBase}} {
		write(program.name+"/go.mod", "module "+program.name+"\n\ngo 1.26.0\n\nrequire (\n\texample.test/library v1.0.0\n\texample.test/base "+program.base+"\n)\n\n"+
			"replace (\n\texample.test/library => ../library\n\texample.test/base => ../base\n)\n")
		write(program.name+"/main.go", "package main\n\nimport _ \"example.test/library\"\n\nfunc main() {}\n")
		builds = append(builds, Build{Spec: gobuild.Spec{
			Label: program.name, Dir: filepath.Join(dir, program.name), Packages: []string{"."}, Flags: []string{"-trimpath"}, Env: []string{"GOFLAGS=", "GOWORK=off"},
		}})
	}
	return builds
}

func TestPackagesOfSameVersionsAreCompiledOnce(t *testing.T) {
	account, err := Of(t.Context(), newModules(t, "v1.0.0", "v1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	if second := account.Builds[1]; second.New != 1 || second.Packages < 3 {
		t.Errorf("the second program compiles %d packages of %d, want only its own", second.New, second.Packages)
	}
	if len(account.Modules) > 0 {
		t.Errorf("compiled several times: %+v", account.Modules)
	}
}

func TestAnotherVersionOfAnImportCompilesItsImportersAgain(t *testing.T) {
	account, err := Of(t.Context(), newModules(t, "v1.0.0", "v1.1.0"))
	if err != nil {
		t.Fatal(err)
	}
	if second := account.Builds[1]; second.New != 3 {
		t.Errorf("the second program compiles %d packages, want itself, the library and the base", second.New)
	}
	got := map[string]int{}
	for _, m := range account.Modules {
		got[m.Path] = m.Compilations
	}
	if len(got) != 2 || got["example.test/library"] != 2 || got["example.test/base"] != 2 {
		t.Errorf("compiled several times: %v, want the library and the base, twice each", got)
	}
}

func TestOtherFlagsCompileAgain(t *testing.T) {
	builds := newModules(t, "v1.0.0", "v1.0.0")
	builds[1].Flags = nil
	account, err := Of(t.Context(), builds)
	if err != nil {
		t.Fatal(err)
	}
	if second := account.Builds[1]; second.New != 3 {
		t.Errorf("without -trimpath the second program compiles %d packages, want itself, the library and the base", second.New)
	}
}
