package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A task leaves its state for the next one, in another process.
func TestStateOfAFleetCanBeLeft(t *testing.T) {
	before := legacy{
		Kubeconfig: "config", Fleet: fleets[0].fleet, Private: []byte("key"), Public: []byte("public"),
		Sites: []publishedSite{{Prefix: "f1", Owner: "uid", Documents: map[string][]byte{"keys": []byte("{}")}}},
	}
	text, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	var after legacy
	if err := json.Unmarshal(text, &after); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("(-left +read):\n%s", diff)
	}
}
