// Command progress runs `go build` and shows its progress: with empty caches, it downloads and compiles for minutes.
//
//	go run ./hack/progress [-C DIRECTORY] [-o FILE] [-expect DURATION] LABEL [build flags] [packages]
//
// A program that a bundle has brought (hack/bundle) is not built.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hosted-control-planes/hypershift/hack/binaries/gobuild"
	"github.com/hosted-control-planes/hypershift/hack/bundle/prebuilt"
	"github.com/hosted-control-planes/hypershift/hack/progress/screen"
	"github.com/hosted-control-planes/hypershift/hack/progress/steps"
)

func main() {
	dir := flag.String("C", "", "directory of the build, in the module of the packages")
	output := flag.String("o", "", "file of the program")
	expected := flag.Duration("expect", time.Minute, "how long it takes on two cores with empty caches")
	flag.Parse()
	if flag.NArg() < 2 {
		fmt.Fprintln(os.Stderr, "usage: progress [-C DIRECTORY] [-o FILE] [-expect DURATION] LABEL [build flags] [packages]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	shown, err := screen.On(os.Stderr, steps.Step{Name: flag.Arg(0), Expected: *expected})
	if err == nil {
		err = build(ctx, shown, *dir, *output, flag.Arg(0), flag.Args()[1:])
		shown.Clear()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func build(ctx context.Context, progress io.Writer, dir, output, label string, args []string) error {
	if output == "" {
		return gobuild.Build(ctx, progress, label, dir, args...)
	}
	output, err := filepath.Abs(output)
	if err != nil {
		return err
	}
	program, err := prebuilt.Program(ctx, ".", filepath.Base(output))
	if err != nil {
		return err
	}
	if program != "" {
		return place(program, output)
	}
	return gobuild.Build(ctx, progress, label, dir, append([]string{"-o", output}, args...)...)
}

// place copies a program. A new file replaces the old one, which may run.
func place(program, output string) error {
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(output), 0o755); err != nil {
		return err
	}
	unfinished := output + ".unfinished"
	if err := os.WriteFile(unfinished, content, 0o755); err != nil {
		return err
	}
	return os.Rename(unfinished, output)
}
