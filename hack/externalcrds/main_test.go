package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The shipped CRDs must match the clients and the servers of the test environments.
func TestShippedCRDsAreThoseOfThePinnedModules(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	for dir, from := range directories {
		t.Run(filepath.Base(dir), func(t *testing.T) { compare(t, dir, from) })
	}
}

func compare(t *testing.T, dir string, from []source) {
	want, err := all(from)
	if err != nil {
		t.Fatal(err)
	}
	shipped, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range shipped {
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		if !bytes.Equal(got, want[name]) {
			t.Errorf("%s differs from its module: go run ./hack/externalcrds", name)
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("%s is not shipped: go run ./hack/externalcrds", name)
	}
}
