package cel

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/fixture"
)

// spoiled contains a change of an object of each kind: a value that the Go type of its field cannot hold. The current CRD
// rejects such values; an older CRD may have accepted them.
var spoiled = map[string]struct {
	list  client.ObjectList
	patch map[string]any
	want  string // field that cannot be read
}{
	"hostedcluster": {
		list: &hyperv1.HostedClusterList{}, want: "spec.networking",
		patch: map[string]any{"spec": map[string]any{"networking": "all of it"}},
	},
	"nodepool": {
		list: &hyperv1.NodePoolList{}, want: "spec.nodeDrainTimeout",
		patch: map[string]any{"spec": map[string]any{"nodeDrainTimeout": "soon", "autoScaling": []any{}}},
	},
	"hostedcontrolplane": {
		list: &hyperv1.HostedControlPlaneList{}, want: "spec.configuration",
		patch: map[string]any{"spec": map[string]any{"configuration": []any{"a", "b"}}},
	},
	"awsendpointservice": {
		list: &hyperv1.AWSEndpointServiceList{}, want: "spec.subnetIDs",
		patch: map[string]any{"spec": map[string]any{"subnetIDs": "subnet-0123456789abcdef0"}},
	},
	"nodebootstrap": {
		list: &hyperv1.NodeBootstrapList{}, want: "spec.version",
		patch: map[string]any{"spec": map[string]any{"version": 1.36}},
	},
	"nodebootstraptemplate": {
		list: &hyperv1.NodeBootstrapTemplateList{}, want: "spec.template",
		patch: map[string]any{"spec": map[string]any{"template": "of a machine"}},
	},
}

// TestOneUnreadableObjectDoesNotHideTheOthers stores, under a CRD without schemas, a valid object and an object that
// cannot be decoded into the Go type, and then installs the current CRD. A typed informer must return both: the valid
// one completely, and the other one with the name of the unreadable field.
func TestOneUnreadableObjectDoesNotHideTheOthers(t *testing.T) {
	t.Parallel()
	cfg := fixture.StartAPIServer(t, laxCRDs(t))
	lax, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for kind, s := range spoiled {
		base := loadBase(t, kind)
		for name, patch := range map[string]map[string]any{"good": nil, "spoiled": s.patch} {
			obj := patched(base, patch)
			obj.SetName(name)
			if err := lax.Create(t.Context(), obj); err != nil {
				t.Fatalf("storing a %s %s: %v", name, kind, err)
			}
		}
	}
	if _, err := envtest.InstallCRDs(cfg, envtest.CRDInstallOptions{Paths: []string{crdDirectory}, ErrorIfPathMissing: true}); err != nil {
		t.Fatalf("installing the current CRDs: %v", err)
	}

	scheme := runtime.NewScheme()
	if err := hyperv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	informers, err := cache.New(cfg, cache.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = informers.Start(t.Context()) }()
	if !informers.WaitForCacheSync(t.Context()) { // without informers, this only waits for the start
		t.Fatal("the cache has not started")
	}

	for kind, s := range spoiled {
		t.Run(kind, func(t *testing.T) {
			// The first List waits until the informer has synced: forever, if one object blocks it.
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if err := informers.List(ctx, s.list, client.InNamespace("default")); err != nil {
				t.Fatalf("the informer has not synced: %v", err)
			}
			unreadable := map[string]string{}
			err := meta.EachListItem(s.list, func(item runtime.Object) error {
				unreadable[item.(client.Object).GetName()] = item.(interface{ Unreadable() string }).Unreadable()
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(unreadable) != 2 {
				t.Fatalf("want the good object and the spoiled one, got %v", unreadable)
			}
			if unreadable["good"] != "" {
				t.Errorf("the good object cannot be read: %s", unreadable["good"])
			}
			if !strings.Contains(unreadable["spoiled"], s.want) {
				t.Errorf("the spoiled object should report that %s cannot be read, got %q", s.want, unreadable["spoiled"])
			}
		})
	}
}

// laxCRDs returns a directory with the CRDs, but without their schemas.
func laxCRDs(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(crdDirectory, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs in %s: %v", crdDirectory, err)
	}
	lax, anything := t.TempDir(), true
	for _, file := range files {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		loadYAML(t, file, crd)
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{
				Type: "object", XPreserveUnknownFields: &anything,
			}
		}
		text, err := yaml.Marshal(crd)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(lax, filepath.Base(file)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return lax
}
