package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

func TestRecordedWritesAreRepeatedForOtherClusters(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = append(got, r.Method+" "+r.URL.RequestURI()+" "+string(body))
		if strings.Contains(r.URL.Path, "refused") {
			w.WriteHeader(http.StatusConflict)
		}
	}))
	defer server.Close()
	cfg := &rest.Config{Host: server.URL}
	name := filepath.Join(t.TempDir(), "writes")
	end, err := record(cfg, name)
	if err != nil {
		t.Fatal(err)
	}
	c, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	call := func(method, path, body string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
	}
	call(http.MethodGet, "/h001", "")
	call(http.MethodPatch, "/namespaces/user-h001/secrets/h001-a?fieldManager=x", `{"metadata":{"name":"h001-a","resourceVersion":"7","ownerReferences":[{"uid":"1"}]},"data":{"a":"xh001"}}`)
	call(http.MethodPatch, "/namespaces/user-h001/refused", `{}`)
	call(http.MethodPost, "/namespaces/user-h001/events", `{}`)
	if err := end(); err != nil {
		t.Fatal(err)
	}
	call(http.MethodPatch, "/namespaces/user-h001/later", `{}`)

	recorded, err := readRecord(name)
	if err != nil || len(recorded) != 1 || len(recorded["h001"]) != 1 {
		t.Fatalf("recorded %v, %v", recorded, err)
	}
	got = nil
	if err := recorded["h001"][0].repeat(t.Context(), c, server.URL); err != nil {
		t.Fatal(err)
	}
	want := []string{`PATCH /namespaces/user-k001/secrets/k001-a?fieldManager=x {"data":{"a":"xh001"},"metadata":{"name":"k001-a"}}`}
	if !slices.Equal(got, want) {
		t.Errorf("repeated %q, want %q", got, want)
	}
}
