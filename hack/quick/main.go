// Command quick runs the tests that start no other program, with a sample of the crash trials, and prints how long they took. It is
// the loop of a contributor: `make unit` runs all tests of these packages.
//
//	go run ./hack/quick [packages]
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

const module = "github.com/hosted-control-planes/hypershift"

// starters are packages that start programs: an API server with its etcd, the AWS emulator, or what hack/binaries compiles.
var starters = []string{
	"sigs.k8s.io/controller-runtime/pkg/envtest",
	module + "/hack/binaries",
	module + "/test/awsemulator",
}

// trees are the packages of the product. Packages below test run in environments.
var trees = []string{module + "/api/...", "./cmd/...", "./internal/...", "./hypershift-operator/...", "./control-plane-operator/..."}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(patterns []string) error {
	if len(patterns) == 0 {
		patterns = trees
	}
	began := time.Now()
	quick, left, err := list(patterns)
	if err != nil {
		return err
	}
	test := exec.Command("go", append([]string{"test", "-short", "-vet=off"}, quick...)...)
	var failures bytes.Buffer
	test.Stdout, test.Stderr = &failures, os.Stderr
	err = test.Run()
	for line := range strings.Lines(failures.String()) {
		if !strings.HasPrefix(line, "ok ") && !strings.Contains(line, "[no test files]") {
			fmt.Print(line)
		}
	}
	fmt.Printf("%d packages in %.0f s; %d packages start programs: make unit\n", len(quick), time.Since(began).Seconds(), left)
	if err != nil {
		return fmt.Errorf("the tests: %w", err)
	}
	return nil
}

// list returns the packages with tests that start no program, and the number of the others.
func list(patterns []string) (quick []string, left int, err error) {
	command := exec.Command("go", append([]string{"list", "-test", "-f", "{{if .ForTest}}{{.ForTest}} {{join .Deps \" \"}}{{end}}"}, patterns...)...) //nolint:gosec // patterns of the developer
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, 0, fmt.Errorf("go list: %w", err)
	}
	starts := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) > 0 {
			starts[fields[0]] = starts[fields[0]] || slices.ContainsFunc(fields[1:], isStarter)
		}
	}
	for path, starting := range starts {
		if starting {
			left++
		} else {
			quick = append(quick, path)
		}
	}
	slices.Sort(quick)
	return quick, left, nil
}

func isStarter(path string) bool { return slices.Contains(starters, path) }
