package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/hosted-control-planes/hypershift/test/fixture"
	"github.com/hosted-control-planes/hypershift/test/lab/bench/timeline"
	lab "github.com/hosted-control-planes/hypershift/test/lab/cluster"
	"github.com/hosted-control-planes/hypershift/test/lab/hosting"
)

func TestObservationHasObjectsOfTheClusterOnly(t *testing.T) {
	server, err := startBare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.stop(); err != nil {
			t.Error(err)
		}
	})
	config := server.config(server.address)
	config.Timeout = 0
	crds, err := fixture.DefaultCRDs()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{Paths: crds, ErrorIfPathMissing: true}); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	b := &labBench{Hosting: &hosting.Hosting{Lab: &lab.Lab{Config: config}}, management: c}
	key := client.ObjectKey{Namespace: "clusters", Name: "demo"}
	file := filepath.Join(t.TempDir(), "events.jsonl")
	o, err := b.observe(t.Context(), []client.ObjectKey{key}, file)
	if err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{controlPlane(key), "other"} {
		for _, obj := range []client.Object{
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "of-" + namespace}, StringData: map[string]string{"password": "hidden"}},
		} {
			if err := c.Create(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = until(t.Context(), time.Minute, func(context.Context) (bool, error) {
		text, err := os.ReadFile(file)
		return bytes.Count(text, []byte("\n")) >= 2, err
	})
	if err != nil {
		t.Fatal(err)
	}
	o.served()
	var out strings.Builder
	if err := o.end(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Namespace clusters-demo\n", "Secret of-clusters-demo\n", "── /readyz answers ok\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the timeline lacks %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "other") {
		t.Errorf("the timeline has objects of others:\n%s", out.String())
	}
	written, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer written.Close()
	again, err := timeline.Read(written)
	if err != nil {
		t.Fatal(err)
	}
	var fromFile strings.Builder
	if err := again.Print(&fromFile, o.ready); err != nil {
		t.Fatal(err)
	}
	if fromFile.String() != out.String() {
		t.Errorf("the file of events has\n%sthe timeline was\n%s", fromFile.String(), out.String())
	}
	if text, err := os.ReadFile(file); err != nil || bytes.Contains(text, []byte("password")) {
		t.Errorf("the file of events has the content of Secrets (%v)", err)
	}
	if err := o.end(&out); err != nil || strings.Count(out.String(), "Longest waits") != 1 {
		t.Errorf("a second end prints again: %v", err)
	}
}
