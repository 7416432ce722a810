package main

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The processes have the flags of the manifests: an API server of the processes that serves shows that these flags are right, and it accepts
// the manifests.
func TestBareProcessesServeAndAcceptTheManifests(t *testing.T) {
	b, err := startBare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.stop(); err != nil {
			t.Error(err)
		}
	})
	if b.seconds <= 0 || b.seconds > floorPatience.Seconds() {
		t.Errorf("the start took %v s", b.seconds)
	}
	config := b.config(b.address)
	config.Timeout = 0
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := applyFloor(t.Context(), c, b.floor, floorVariables("floor", nil)); err != nil {
		t.Fatal(err)
	}
	var deployments appsv1.DeploymentList
	var services corev1.ServiceList
	if err := errors.Join(c.List(t.Context(), &deployments, client.InNamespace("floor")), c.List(t.Context(), &services, client.InNamespace("floor"))); err != nil {
		t.Fatal(err)
	}
	if len(deployments.Items) != 2 || len(services.Items) != 2 {
		t.Errorf("%d Deployments and %d Services were created", len(deployments.Items), len(services.Items))
	}
	other := b.config(b.address)
	other.ServerName = "another"
	if ready(other) {
		t.Error("a server with another name is ready")
	}
}

func TestManifestsUseFilesThatExist(t *testing.T) {
	f, err := newFloor("https://kube-apiserver:443", "etcd.floor.svc")
	if err != nil {
		t.Fatal(err)
	}
	flags, err := floorFlags(floorVariables("floor", nil))
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{"ca.crt": true}
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager"} {
		if !slices.ContainsFunc(flags[name], func(flag string) bool { return strings.Contains(flag, "/etc/kubernetes/pki/") }) {
			t.Errorf("%s uses no credentials: %q", name, flags[name])
		}
		for _, flag := range flags[name] {
			if _, file, found := strings.Cut(flag, "=/etc/kubernetes/pki/"); found {
				if used[filepath.Base(file)] = true; f.files[file] == nil {
					t.Errorf("%s: %s is not in the Secret", name, flag)
				}
			}
		}
	}
	for file := range f.files {
		if !used[file] {
			t.Errorf("no program uses %s", file)
		}
	}
}

func TestMultipleIsTheRatioOfMedians(t *testing.T) {
	if got := multiple([]float64{9, 6, 7}, []float64{3, 5, 3.5}); !slices.Equal(got, []float64{2}) {
		t.Errorf("got %v", got)
	}
	if got := multiple([]float64{9}, nil); got != nil {
		t.Errorf("without a floor, it is %v", got)
	}
}
