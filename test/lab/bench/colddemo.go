package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/test/lab/bench/report"
	lab "github.com/hosted-control-planes/hypershift/test/lab/cluster"
)

// demoTimes are minutes from the start of `make demo`.
type demoTimes struct{ available, ended []float64 }

func coldDemoRows(t demoTimes) []report.Row {
	return []report.Row{{
		What: "`make demo` from empty caches",
		Note: "a clone of the commit, and a home directory without modules, builds and programs; the packages of the distribution are there",
		Figures: []report.Figure{
			report.Within("until the first hosted cluster is Available", 8, "minutes", t.available...).Earlier("20.4 minutes").
				WhatWasTried("only what the first cluster needs is built before it, with one release of Go and the same libraries (decision 0074). 3.9 minutes are " +
					"the demo and the lab, 6.6 Kubernetes and everything else of the lab, 1.9 images and operators, 0.5 the cluster."),
			report.Within("until it ends", 20, "minutes", t.ended...).Earlier("41.9 minutes").
				WhatWasTried("programs are built ahead at the lowest priority while the first cluster's are. What is left: 4 minutes for the AWS provider of Cluster " +
					"API, 3 for the second version of Kubernetes, 4 for nodes, workload, upgrade and deletion."),
		},
	}}
}

// coldDemo runs the demo as on a machine that has never run it.
func coldDemo(ctx context.Context, _ string) (_ []report.Row, err error) {
	if err := lab.MustNotBeUp(lab.Options{}); err != nil {
		return nil, err
	}
	root, err := pinned.Root()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "hypershift-cold-demo-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, removeCaches(dir)) }()
	checkout, home := filepath.Join(dir, "hypershift"), filepath.Join(dir, "home")
	if out, err := exec.CommandContext(ctx, "git", "clone", "--quiet", root, checkout).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cloning %s: %w: %s", root, err, out)
	}
	env, err := coldEnvironment(ctx, home)
	if err != nil {
		return nil, err
	}
	t, err := runDemo(ctx, checkout, env)
	if err != nil {
		return nil, errors.Join(err, removeLab(ctx, checkout, env))
	}
	return coldDemoRows(t), nil
}

// removeLab stops the lab that a failed demo leaves, before its directory is deleted with the caches.
func removeLab(ctx context.Context, checkout string, env []string) error {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), filepath.Join("bin", "lab"), "down")
	cmd.Dir, cmd.Env = checkout, env
	out, err := cmd.CombinedOutput()
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // without the program, there was no lab yet
		return fmt.Errorf("removing the lab: %w: %s", err, out)
	}
	return nil
}

// caches are the variables that name the directories of caches.
var caches = []string{"GOCACHE", "GOMODCACHE", "GOPATH", "PIP_CACHE_DIR", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"}

// coldEnvironment returns the environment with an empty home directory. Settings of Go stay, because they may name its proxy.
func coldEnvironment(ctx context.Context, home string) ([]string, error) {
	if err := os.Mkdir(home, 0o700); err != nil {
		return nil, err
	}
	settings, err := exec.CommandContext(ctx, "go", "env", "GOENV").Output()
	if err != nil {
		return nil, fmt.Errorf("finding the settings of Go: %w", err)
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(caches, name)
	})
	return append(env, "HOME="+home, "GOENV="+strings.TrimSpace(string(settings))), nil
}

// runDemo runs `make demo`. Its log is kept if it fails.
func runDemo(ctx context.Context, checkout string, env []string) (demoTimes, error) {
	log, err := os.CreateTemp("", "hypershift-cold-demo-*.log")
	if err != nil {
		return demoTimes{}, err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, "make", "demo")
	cmd.Dir, cmd.Env, cmd.Stderr = checkout, env, log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) } // removes the lab
	cmd.WaitDelay = time.Minute
	out, err := cmd.StdoutPipe()
	if err != nil {
		return demoTimes{}, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return demoTimes{}, fmt.Errorf("running make demo: %w", err)
	}
	available, err := firstAvailable(io.TeeReader(out, log), began, time.Now)
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return demoTimes{}, fmt.Errorf("make demo: %w; its log is %s", err, log.Name())
	}
	return demoTimes{available: []float64{available.Minutes()}, ended: []float64{time.Since(began).Minutes()}}, os.Remove(log.Name())
}

// firstAvailable reads the output of the demo to its end, and returns when it reported the first available cluster.
func firstAvailable(out io.Reader, began time.Time, now func() time.Time) (time.Duration, error) {
	var first time.Duration
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if first == 0 && strings.Contains(lines.Text(), " is available ") && strings.HasSuffix(lines.Text(), " s after apply") {
			first = now().Sub(began)
		}
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("reading its output: %w", err)
	}
	if first == 0 {
		return 0, errors.New("no cluster was reported as available")
	}
	return first, nil
}

// removeCaches deletes a directory with a cache of modules. The directories of the cache are read-only.
func removeCaches(dir string) error {
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	})
	return errors.Join(err, os.RemoveAll(dir))
}
