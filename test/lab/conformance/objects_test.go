package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hosted-control-planes/hypershift/test/fixture"
)

// created counts the objects that are created by kind. fails is an error for a kind.
type created struct {
	mu    sync.Mutex
	kinds map[string]int
	fails string
}

func (c *created) client(objects ...client.Object) client.WithWatch {
	c.kinds = map[string]int{}
	byName := func(o client.Object) []string { return []string{o.GetName()} }
	return interceptor.NewClient(fake.NewClientBuilder().WithObjects(objects...).WithIndex(&corev1.ServiceAccount{}, "metadata.name", byName).Build(), interceptor.Funcs{
		Create: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			kind := fmt.Sprintf("%T", o)
			if kind == c.fails {
				return errors.New("refused")
			}
			err := w.Create(ctx, o, opts...)
			if err == nil {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.kinds[kind]++
			}
			return err
		},
	})
}

func TestObjectsAreThoseOfTypicalClusters(t *testing.T) {
	c := &created{}
	f := &filler{Client: c.client(), namespaces: 2 * namespacesPerCluster}
	n, err := f.fill(t.Context())
	if err != nil || n != 600 || f.made.Load() != 600 || 2*objectsPerCluster() != 600 {
		t.Errorf("%d objects, %d made, %v", n, f.made.Load(), err)
	}
	want := map[string]int{
		"*v1.Namespace": 20, "*v1.ConfigMap": 120, "*v1.Secret": 120, "*v1.ServiceAccount": 40, "*v1.Role": 40, "*v1.RoleBinding": 40,
		"*v1.Service": 60, "*v1.EndpointSlice": 60, "*v1.Deployment": 60, "*v1.NetworkPolicy": 20, "*v1.ResourceQuota": 20,
	}
	for kind, n := range want {
		if c.kinds[kind] != n {
			t.Errorf("%d objects %s, want %d", c.kinds[kind], kind, n)
		}
	}
	if len(c.kinds) != len(want) {
		t.Errorf("the kinds are %v", c.kinds)
	}
	for object, size := range map[client.Object]int{configMap(objectsMeta("a", 0)): configMapBytes, secret(objectsMeta("a", 0)): secretBytes} {
		// The data of a Secret is encoded.
		text, err := json.Marshal(object)
		if err != nil || len(text) < size || len(text) > size*3/2+300 {
			t.Errorf("%T has %d bytes, want about %d (%v)", object, len(text), size, err)
		}
	}
}

func TestObjectsOfAnEarlierRunAreKept(t *testing.T) {
	c := &created{fails: "*v1.ResourceQuota"}
	f := &filler{Client: c.client(), namespaces: 2}
	if _, err := f.fill(t.Context()); err == nil {
		t.Fatal("an object was refused, and there is no error")
	}
	c.fails = ""
	if n, err := f.fill(t.Context()); err != nil || n != 60 {
		t.Errorf("after an interrupted run: %d objects, %v", n, err)
	}
	if c.kinds["*v1.ConfigMap"] != 12 || c.kinds["*v1.ResourceQuota"] != 2 {
		t.Errorf("the kinds are %v", c.kinds)
	}
	// Complete namespaces cost no request, and count although this run wants fewer.
	again := &filler{Client: f.Client, namespaces: 1}
	if n, err := again.fill(t.Context()); err != nil || n != 60 || again.made.Load() != 0 {
		t.Errorf("after a complete run: %d objects, %d made, %v", n, again.made.Load(), err)
	}
	none := &filler{Client: (&created{}).client()}
	if n, err := none.fill(t.Context()); err != nil || n != 0 {
		t.Errorf("without -objects: %d objects, %v", n, err)
	}
}

func TestSpecsWaitUntilTheObjectsAreProcessed(t *testing.T) {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "a", Name: name, Generation: 1, Labels: map[string]string{objectsLabel: name}}
	}
	deployment := func(observed int64) client.Object {
		return &appsv1.Deployment{ObjectMeta: meta("app"), Status: appsv1.DeploymentStatus{ObservedGeneration: observed}}
	}
	namespace, account := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, &corev1.ServiceAccount{ObjectMeta: meta("default")}
	for name, c := range map[string]struct {
		objects   []client.Object
		processed bool
	}{
		"all are processed":                    {objects: []client.Object{namespace, account, deployment(1)}, processed: true},
		"a Deployment is not processed":        {objects: []client.Object{namespace, account, deployment(0)}},
		"a namespace lacks its ServiceAccount": {objects: []client.Object{namespace, &corev1.ServiceAccount{ObjectMeta: meta("app-0")}, deployment(1)}},
	} {
		f := &filler{Client: (&created{}).client(c.objects...)}
		if err := f.processed(t.Context()); (err == nil) != c.processed {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A real API server validates the objects.
func TestObjectsAreValid(t *testing.T) {
	config := fixture.StartAPIServer(t)
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := &filler{Client: c, namespaces: 2}
	for range 2 {
		if n, err := f.fill(t.Context()); err != nil || n != 60 {
			t.Errorf("%d objects, %v", n, err)
		}
	}
	if err := f.processed(t.Context()); err == nil {
		t.Error("there are no controllers, and the objects are processed")
	}
}
