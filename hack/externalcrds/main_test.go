package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// What is shipped must be what our clients and the servers of the beds were built from.
func TestTheShippedKindsAreThoseOfThePinnedModules(t *testing.T) {
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
			t.Errorf("%s is not what its module has: go run ./hack/externalcrds", file.Name())
		}
		delete(want, file.Name())
	}
	for name := range want {
		t.Errorf("%s is not shipped: go run ./hack/externalcrds", name)
	}
}
