package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hosted-control-planes/hypershift/test/lab/conformance/report"
	"github.com/hosted-control-planes/hypershift/test/lab/hosting"
	"github.com/hosted-control-planes/hypershift/test/lab/images"
)

// TestMain lets the test program call itself like the command does.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == withHosts {
		exit(becomeWithHosts(os.Args[2], os.Args[3:]))
	}
	os.Exit(m.Run())
}

// ginkgo is a stand-in that writes down its environment, and the report in $REPORT.
const ginkgo = `#!/bin/sh
for a in "$@"; do case $a in --output-dir=*) out=${a#*=} ;; --json-report=*) json=${a#*=} ;; esac; done
printf '%s\n' "$@" >"$out/arguments"
cp /etc/hosts "$out/seen"
cp "$KUBE_TEST_REPO_LIST" "$out/repositories"
printf '\342\200\242 [0.100 seconds]\n'
[ -z "$REPORT" ] || printf '%s' "$REPORT" >"$out/$json"
exit "$CODE"
`

// newSuite returns a suite with a stand-in for each program.
func newSuite(t *testing.T) *suite {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounting a file of hosts needs root")
	}
	dir := t.TempDir()
	r := &run{options: options{version: images.Versions[0], dir: dir, workers: 2}, out: t.Output(), began: time.Now(), paths: map[string]string{}, Hosting: &hosting.Hosting{}}
	for _, program := range []string{"ginkgo", "e2e.test", "kubectl"} {
		path := filepath.Join(dir, program)
		if err := os.WriteFile(path, []byte(ginkgo), 0o755); err != nil {
			t.Fatal(err)
		}
		r.paths[images.ConformanceProgram(program, r.version)] = path
	}
	return &suite{run: r, repositories: "gcRegistry: here\n", kubeconfig: "/kubeconfig", addresses: map[string]string{"api.example.test": "10.0.0.1"}}
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const onePassed = `[{"SpecReports": [{"LeafNodeType": "It", "LeafNodeText": "[sig-node] one [Conformance]", "State": "passed"}]}]`

const again = "--flake-attempts=2"

func TestSuiteRunsWithTheNamesOfTheHostedCluster(t *testing.T) {
	s := newSuite(t)
	t.Setenv("REPORT", onePassed)
	t.Setenv("CODE", "0")
	before := read(t, "/etc/hosts")
	specs, problems, err := s.do(t.Context(), part{name: "parallel", processes: 4, filter: "Conformance && !Serial", focus: "one", specs: 1})
	if err != nil || len(problems) > 0 || len(specs) != 1 || specs[0] != (report.Spec{Name: "[sig-node] one [Conformance]", State: report.Passed}) {
		t.Errorf("got %+v, %q, %v", specs, problems, err)
	}
	if seen := read(t, s.dir, "seen"); seen != strings.TrimSpace(before)+"\n10.0.0.1 api.example.test\n" {
		t.Errorf("the tests saw the hosts %q", seen)
	}
	if after := read(t, "/etc/hosts"); after != before {
		t.Errorf("the hosts of this machine are %q", after)
	}
	if got := read(t, s.dir, "repositories"); got != s.repositories {
		t.Errorf("the tests saw the repositories %q", got)
	}
	arguments := strings.Split(read(t, s.dir, "arguments"), "\n")
	for _, want := range []string{"--procs=4", "--label-filter=Conformance && !Serial", "--focus=one", "--junit-report=parallel.xml", "--kubeconfig=/kubeconfig", "--num-nodes=2"} {
		if !slices.Contains(arguments, want) {
			t.Errorf("%s is not among the arguments %q", want, arguments)
		}
	}
	if slices.Contains(arguments, again) {
		t.Error("a spec that fails runs again, although the results are for a report")
	}
	beyond := part{skip: "two|three"}
	if slices.Contains(arguments, "--skip="+beyond.skip) || !slices.Contains(s.arguments(beyond), "--skip="+beyond.skip) {
		t.Errorf("the arguments are %q", s.arguments(beyond))
	}
	s.selection.Quick = true
	if !slices.Contains(s.arguments(part{}), again) {
		t.Error("a spec of a quick run that fails does not run again")
	}
	s.during = disturbance{name: "upgrade"}
	if slices.Contains(s.arguments(part{}), again) {
		t.Error("a spec that fails while something happens runs again")
	}
	s.during.attempts = 3
	if !slices.Contains(s.arguments(part{}), "--flake-attempts=3") {
		t.Error("a spec that fails when its server stops does not run again")
	}
	if log := read(t, s.dir, "parallel.log"); log != "• [0.100 seconds]\n" {
		t.Errorf("the log is %q", log)
	}
}

func TestSuiteThatFailsWithoutAnExplanationIsAnError(t *testing.T) {
	for name, c := range map[string]struct {
		report, code string
		failed       bool
	}{
		"no report":                              {code: "0", failed: true},
		"half a report":                          {report: "[{", code: "0", failed: true},
		"failed although all specs passed":       {report: onePassed, code: "1", failed: true},
		"failed because a spec failed":           {report: strings.ReplaceAll(onePassed, `"passed"`, `"failed"`), code: "1"},
		"failed because the suite was not ready": {report: `[{"SpecialSuiteFailureReasons": ["no nodes"]}]`, code: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t)
			// The report of an earlier run does not count.
			if err := os.WriteFile(filepath.Join(s.dir, "serial.json"), []byte(onePassed), 0o644); err != nil {
				t.Fatal(err)
			}
			t.Setenv("REPORT", c.report)
			t.Setenv("CODE", c.code)
			if _, _, err := s.do(t.Context(), part{name: "serial", processes: 1}); (err != nil) != c.failed {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// A program that ends before those that it has started leaves none of them.
func TestNoProcessOutlivesTheSuite(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	cmd := exec.Command("sh", "-c", "sleep 1000 & exit 3")
	// The pipe is closed when the last process that has it ends.
	cmd.ExtraFiles = []*os.File{write}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var failed *exec.ExitError
	if err := errors.Join(runGroup(cmd), write.Close()); !errors.As(err, &failed) || failed.ExitCode() != 3 {
		t.Fatalf("got %v, want the error of the program", err)
	}
	if err := read.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(read); err != nil {
		t.Errorf("a process still runs: %v", err)
	}
}
