// The program venv makes a virtual environment of Python with the packages of a requirements file, and prints the path of its interpreter:
//
//	go run ./hack/venv hack/policies/requirements.txt
//
// Environments are in the cache of this project. Each has its packages, with the hashes of the file, or does not exist.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hosted-control-planes/hypershift/hack/venv/venv"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, files []string) error {
	if len(files) != 1 {
		return fmt.Errorf("usage: venv FILE")
	}
	requirements, err := os.ReadFile(files[0])
	if err != nil {
		return fmt.Errorf("reading the requirements: %w", err)
	}
	python, err := venv.Install(ctx, filepath.Dir(files[0]), requirements, os.Stderr)
	if err != nil {
		return err
	}
	fmt.Println(python)
	return nil
}
