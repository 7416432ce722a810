package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The shipped CRDs must match the clients and the servers of the test environments.
func TestShippedCRDsAreThoseOfThePinnedModules(t *testing.T) {
	want, err := all()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join("..", "..", "config", "crd", "external")
	shipped, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range shipped {
		got, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want[file.Name()]) {
			t.Errorf("%s differs from its module: go run ./hack/externalcrds", file.Name())
		}
		delete(want, file.Name())
	}
	for name := range want {
		t.Errorf("%s is not shipped: go run ./hack/externalcrds", name)
	}
}
