package resourcegraph

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A state that can be read keeps what it records when it is written again.
func FuzzState(f *testing.F) {
	for _, text := range []string{
		`{"version":1,"scope":{"account":"1"},"resources":{"vpc":{"id":"vpc-1","token":"t","time":"2026-01-01T00:00:00Z"}}}`, `{"version":2}`, `{"version":1,"scope":{}}`, `{"version":1,"resources":null}`,
		`{"version":1,"resources":{"a":null}}`, `null`, `[]`, ``, `{"version":1}{`, `{"VERSION":1,"resources":{"\u0000":{"time":"9999-12-31T23:59:59.999999999+23:59"}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var saved []byte
		state, err := NewState(text, func(text []byte) error { saved = text; return nil })
		if err != nil {
			return
		}
		state.Newest()
		if err := state.put("new", Record{ID: "id"}); err != nil {
			t.Fatal(err)
		}
		if saved == nil { // it was recorded before
			return
		}
		again, err := NewState(saved, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(state.doc, again.doc, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("after it was written:\n%s", diff)
		}
	})
}
