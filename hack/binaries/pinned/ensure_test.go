package pinned

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// newShelf has one pinned binary, "tool", of a minimal module.
func newShelf(t *testing.T, program string) (shelf, *bytes.Buffer) {
	t.Helper()
	pins := t.TempDir()
	writeFiles(t, filepath.Join(pins, "tools"), map[string]string{
		"go.mod":  "module tools\n\ngo 1.26.0\n\nrequire example.test/tool v1.2.3\n\nreplace example.test/tool => ./tool\n",
		"go.sum":  "",
		"pins.go": "//go:build tools\n\npackage tools\n\nimport _ \"example.test/tool\"\n",
	})
	writeFiles(t, filepath.Join(pins, "tools", "tool"), map[string]string{
		"go.mod":  "module example.test/tool\n\ngo 1.26.0\n",
		"main.go": program,
	})
	var progress bytes.Buffer
	tools := &module{dir: "tools", require: "example.test/tool", ldflags: func(v string) string { return "-X main.version=" + v }}
	return shelf{
		pins:     pins,
		release:  runtime.Version(),
		bin:      t.TempDir(),
		table:    []binary{{name: "tool", module: tools, pkg: "example.test/tool"}},
		progress: &progress,
	}, &progress
}

const hello = "package main\n\nvar version string\n\nfunc main() { print(version) }\n"

func TestBinaryIsBuiltOnce(t *testing.T) {
	s, progress := newShelf(t, hello)
	paths, err := s.ensure(t.Context(), []string{"tool"})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), paths["tool"]).CombinedOutput(); err != nil || string(out) != "v1.2.3" {
		t.Errorf("the tool printed %q, %v; want the version that its module pins", out, err)
	}
	again, err := s.ensure(t.Context(), []string{"tool"})
	if err != nil || again["tool"] != paths["tool"] {
		t.Errorf("a second build returned %v, %v", again, err)
	}
	if built := strings.Count(progress.String(), "built tool"); built != 1 {
		t.Errorf("it was built %d times:\n%s", built, progress)
	}
}

func TestProgramsApartHaveOtherModules(t *testing.T) {
	got, err := Apart([]string{"etcdctl", "ignition", "kubelet-1.36.3", "kube-proxy-1.36.3"}, []string{"etcd", "kube-apiserver-1.36.3"})
	if want := []string{"ignition", "kubelet-1.36.3"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if _, err := Apart([]string{"etcd"}, []string{"none"}); err == nil {
		t.Error("an unknown program has a module")
	}
}

func TestChangedPinIsBuiltAgain(t *testing.T) {
	s, _ := newShelf(t, hello)
	before, err := s.ensure(t.Context(), []string{"tool"})
	if err != nil {
		t.Fatal(err)
	}
	mod := filepath.Join(s.pins, "tools", "go.mod")
	content, err := os.ReadFile(mod)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(mod, bytes.ReplaceAll(content, []byte("v1.2.3"), []byte("v1.2.4")), 0o644); err != nil {
		t.Fatal(err)
	}
	after, err := s.ensure(t.Context(), []string{"tool"})
	if err != nil {
		t.Fatal(err)
	}
	if before["tool"] == after["tool"] {
		t.Errorf("both pins are built into %s", after["tool"])
	}
	if _, err := os.Stat(before["tool"]); err != nil {
		t.Errorf("another checkout lost its binary: %v", err)
	}
}

func TestProgramsOfOneModuleAreBuiltInOneCall(t *testing.T) {
	s, progress := newShelf(t, hello)
	writeFiles(t, filepath.Join(s.pins, "tools", "tool"), map[string]string{
		"second/v2/main.go": "package main\n\nfunc main() { print(\"second\") }\n",
		"library/doc.go":    "package library\n",
	})
	s.table = append(s.table,
		binary{name: "second-1.0", file: "other", module: s.table[0].module, pkg: "example.test/tool/second/v2"},
		binary{name: "library", module: s.table[0].module, pkg: "example.test/tool/library"})
	paths, err := s.ensure(t.Context(), []string{"tool", "second-1.0"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"tool": "v1.2.3", "second-1.0": "second"} {
		if out, err := exec.CommandContext(t.Context(), paths[name]).CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("%s printed %q, %v; want %q", paths[name], out, err, want)
		}
	}
	if filepath.Base(paths["second-1.0"]) != "other" || strings.Count(progress.String(), "] built ") != 1 {
		t.Errorf("want one build with the file names of the table:\n%v\n%s", paths, progress)
	}

	if err := os.RemoveAll(s.bin); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ensure(t.Context(), []string{"tool", "library"}); err == nil || !strings.Contains(err.Error(), "library: it is not a command") {
		t.Errorf("got %v, want an error for the package that is not a command", err)
	}
}

func TestTestOfAPackageIsBuiltAsAProgram(t *testing.T) {
	s, progress := newShelf(t, hello)
	writeFiles(t, filepath.Join(s.pins, "tools", "tool"), map[string]string{
		"suite/doc.go":        "package suite\n\nvar Version string\n",
		"suite/suite_test.go": "package suite_test\n\nimport (\n\t\"fmt\"\n\t\"testing\"\n\n\t\"example.test/tool/suite\"\n)\n\nfunc TestMain(*testing.M) {\n\tfmt.Printf(\"%d tests\", suite.Version)\n}\n",
	})
	s.table = append(s.table, binary{name: "tools/suite.test", file: "suite.test", module: s.table[0].module, pkg: "example.test/tool/suite", test: true})
	paths, err := s.ensure(t.Context(), []string{"tools/suite.test", "tool"})
	if err != nil {
		t.Fatal(err)
	}
	// go vet would refuse the verb.
	if out, err := exec.CommandContext(t.Context(), paths["tools/suite.test"]).CombinedOutput(); err != nil || !strings.HasSuffix(string(out), " tests") {
		t.Errorf("the test printed %q, %v", out, err)
	}
	if out, err := exec.CommandContext(t.Context(), paths["tool"]).CombinedOutput(); err != nil || string(out) != "v1.2.3" {
		t.Errorf("the command of the same module printed %q, %v", out, err)
	}
	if built := strings.Count(progress.String(), "] built "); built != 2 {
		t.Errorf("want a build of the command and one of the test, got %d:\n%s", built, progress)
	}
}

func TestPatchReplacesFilesOfTheProgram(t *testing.T) {
	s, _ := newShelf(t, hello)
	s.table[0].module.patched = true
	patch := filepath.Join(s.pins, "tools", patchDir)
	writeFiles(t, patch, map[string]string{"main.go": "package main\n\nfunc main() { print(\"patched\") }\n"})
	paths, err := s.ensure(t.Context(), []string{"tool"})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), paths["tool"]).CombinedOutput(); err != nil || string(out) != "patched" {
		t.Errorf("the tool printed %q, %v; want the output of the patch", out, err)
	}

	writeFiles(t, patch, map[string]string{"main.go": "package main\n\nfunc main() { print(\"again\") }\n"})
	again, err := s.ensure(t.Context(), []string{"tool"})
	if err != nil {
		t.Fatal(err)
	}
	if again["tool"] == paths["tool"] {
		t.Error("a changed patch is not built")
	}

	writeFiles(t, filepath.Join(s.pins, "tools", "tool"), map[string]string{"broken.go": "package main\n\nvar _ = undefinedThing\n"})
	writeFiles(t, patch, map[string]string{"broken.go": ""})
	if _, err := s.ensure(t.Context(), []string{"tool"}); err != nil {
		t.Errorf("an empty file of the patch does not remove the file of the program: %v", err)
	}

	writeFiles(t, patch, map[string]string{"moved.go": "package main\n"})
	if _, err := s.ensure(t.Context(), []string{"tool"}); err == nil || !strings.Contains(err.Error(), "moved.go") {
		t.Errorf("got %v, want an error for a patch of a file that the program does not have", err)
	}
}

func TestParallelBuildsBuildOnce(t *testing.T) {
	s, _ := newShelf(t, hello)
	output := make([]bytes.Buffer, 2)
	var wg sync.WaitGroup
	for i := range output {
		one := s
		one.progress = &output[i]
		wg.Go(func() {
			if _, err := one.ensure(t.Context(), []string{"tool"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	all := output[0].String() + output[1].String()
	if strings.Count(all, "built tool") != 1 || strings.Contains(all, "another process") {
		t.Errorf("want one build, of this process:\n%s", all)
	}
}

func TestWaitingForAnotherProcessIsReported(t *testing.T) {
	dir := t.TempDir()
	// The command holds the lock until its input ends.
	other := exec.CommandContext(t.Context(), "flock", filepath.Join(dir, ".lock"), "cat")
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, "locked"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("locked"))); err != nil {
		t.Fatal(err)
	}
	var progress bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := Lock(ctx, &progress, dir); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the second lock: %v", err)
	}
	if want := "another process is building into " + dir; !strings.HasPrefix(progress.String(), want) {
		t.Errorf("got %q, want %q", progress.String(), want)
	}
	if err := errors.Join(in.Close(), other.Wait()); err != nil {
		t.Fatal(err)
	}
}

// events are the calls of a reporter.
type events []string

func (e *events) Write(text []byte) (int, error) {
	*e = append(*e, string(text))
	return len(text), nil
}
func (e *events) Begin(step string) { *e = append(*e, "begin "+step) }
func (e *events) At(string, string) {}
func (e *events) End(step string)   { *e = append(*e, "end "+step) }

func TestBuildIsAStepWhereStepsAreShown(t *testing.T) {
	s, _ := newShelf(t, hello)
	seen := &events{}
	s.progress = seen
	_, missing, err := s.plan([]string{"tool"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.ensure(t.Context(), []string{"tool"}); err != nil {
		t.Fatal(err)
	}
	if want := (events{"begin tools", "end tools"}); !slices.Equal(*seen, want) || missing[0].pin.dir != "tools" {
		t.Errorf("got %q, want %q", *seen, want)
	}
}

func TestFailedBuildReportsTheReasonAndLeavesNothing(t *testing.T) {
	for name, c := range map[string]struct{ program, want string }{
		"it does not compile": {"package main\n\nfunc main() { undefinedThing() }\n", "undefined: undefinedThing"},
		"it is not a command": {"package tool\n", "no main packages"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := newShelf(t, c.program)
			_, err := s.ensure(t.Context(), []string{"tool"})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
			left, err := filepath.Glob(filepath.Join(s.bin, "*", "[^.]*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
