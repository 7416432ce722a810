// Command binaries builds the third-party servers of the test environments, once per pinned version, into the cache
// directory:
//
//	go run ./hack/binaries                   # all of them
//	go run ./hack/binaries etcd kube-apiserver
//	go run ./hack/binaries -except 'karpenter,*-1.36.*'
//	go run ./hack/binaries -cost             # builds no program
//	go run ./hack/binaries -inventory        # builds no program
//	go run ./hack/binaries -newest           # builds no program
//
// It prints the path of each. Existing binaries are not built again. With -cost it estimates what a build of everything compiles
// with empty caches, this repository and its tests included, and which modules are compiled several times.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/hosted-control-planes/hypershift/hack/binaries/cost"
	"github.com/hosted-control-planes/hypershift/hack/binaries/gobuild"
	"github.com/hosted-control-planes/hypershift/hack/binaries/inventory"
	"github.com/hosted-control-planes/hypershift/hack/binaries/newest"
	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/hack/progress/screen"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	except := flag.String("except", "", "names or patterns, separated by commas, of programs that are not built")
	estimate := flag.Bool("cost", false, "estimate the CPU time of all builds, without building")
	list := flag.Bool("inventory", false, "write a page with all programs, and with the libraries in which they differ from the releases of their projects")
	releases := flag.Bool("newest", false, "write the releases of all modules, as the module proxy lists them now")
	flag.Parse()
	for chosen, write := range map[*bool]func(context.Context) error{estimate: printCost, list: printInventory, releases: printNewest} {
		if !*chosen {
			continue
		}
		if err := write(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	names, err := selected(pinned.Names(), flag.Args(), strings.Split(*except, ","))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	paths, err := ensure(ctx, names)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, name := range names {
		fmt.Println(paths[name])
	}
}

// ensure shows the progress of builds.
func ensure(ctx context.Context, names []string) (map[string]string, error) {
	missing, err := pinned.Missing(names...)
	if err != nil {
		return nil, err
	}
	shown, err := screen.On(os.Stderr, missing...)
	if err != nil {
		return nil, err
	}
	defer shown.Clear()
	return pinned.Ensure(ctx, shown, names...)
}

// selected returns the names that match one of the patterns, in the order of the patterns, and none of the others. Without patterns
// it begins with all names.
func selected(all, patterns, except []string) ([]string, error) {
	if len(patterns) == 0 {
		patterns = []string{"*"}
	}
	var names []string
	for _, pattern := range patterns {
		found, err := matching(all, pattern)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("no program matches %q; there are %s", pattern, strings.Join(all, ", "))
		}
		names = append(names, found...)
	}
	for _, pattern := range except {
		found, err := matching(all, pattern)
		if err != nil {
			return nil, err
		}
		names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(found, name) })
	}
	return names, nil
}

func matching(all []string, pattern string) ([]string, error) {
	var names []string
	for _, name := range all {
		matches, err := path.Match(pattern, name)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", pattern, err)
		}
		if matches {
			names = append(names, name)
		}
	}
	return names, nil
}

func printInventory(ctx context.Context) error {
	rows, err := inventory.List(ctx)
	if err != nil {
		return err
	}
	page, err := inventory.Markdown(rows)
	fmt.Print(page)
	return err
}

// printCost estimates the builds in the order of a test run: this repository, then the programs.
func printCost(ctx context.Context) error {
	root, err := pinned.Root()
	if err != nil {
		return err
	}
	sources, err := os.MkdirTemp("", "cost-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(sources)
	builds, err := pinned.Builds(ctx, sources)
	if err != nil {
		return err
	}
	// Flags and environment are the same as in Makefile.
	toolchain, err := pinned.Toolchain()
	if err != nil {
		return err
	}
	repository := gobuild.Spec{Dir: root, Env: []string{toolchain, "CGO_ENABLED=0", "GOFLAGS="}}
	tests, lab, operators := repository, repository, repository
	tests.Label, tests.Test, tests.Flags, tests.Packages = "tests", true, []string{"-trimpath", "-tags=e2e,release"}, []string{"./...", "github.com/hosted-control-planes/hypershift/api/..."}
	lab.Label, lab.Dir, lab.Test, lab.Flags, lab.Packages = "tests of the lab", filepath.Join(root, "test", "lab"), true, tests.Flags, []string{"./..."}
	operators.Label, operators.Flags, operators.Packages = "operators", []string{"-trimpath", "-tags=grpcnotrace"}, []string{"./hypershift-operator", "./control-plane-operator", "./control-plane-operator/sidecar", "./cmd/console"}
	all := []cost.Build{{Spec: tests}, {Spec: lab}, {Spec: operators}}
	for _, b := range builds {
		all = append(all, cost.Build{Spec: b})
	}
	account, err := cost.Of(ctx, all)
	if err != nil {
		return err
	}
	return account.Print(os.Stdout)
}

func printNewest(ctx context.Context) error {
	releases, err := newest.Refresh(ctx)
	if err != nil {
		return err
	}
	text, err := releases.JSON()
	if err == nil {
		_, err = os.Stdout.Write(text)
	}
	return err
}
