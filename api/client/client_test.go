package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	hyperv1apply "github.com/hosted-control-planes/hypershift/api/applyconfiguration/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/api/client/clientset"
	"github.com/hosted-control-planes/hypershift/api/client/clientset/fake"
	"github.com/hosted-control-planes/hypershift/api/client/informers"
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func hostedCluster(name string) *hyperv1.HostedCluster {
	return &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: name}}
}

// The informer sees what existed when it started and what a client changes afterwards.
func TestInformerFollowsTheClientset(t *testing.T) {
	clients := newFake(hostedCluster("first"))
	factory := informers.NewSharedInformerFactory(clients, 0)
	clusters := factory.Hypershift().V1beta1().HostedClusters()

	events := make(chan string, 10)
	_, err := clusters.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { events <- "added " + obj.(*hyperv1.HostedCluster).Name },
		UpdateFunc: func(_, obj any) { events <- "changed " + obj.(*hyperv1.HostedCluster).Spec.InfraID },
		DeleteFunc: func(obj any) { events <- "deleted " + obj.(*hyperv1.HostedCluster).Name },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeoutCause(t.Context(), 10*time.Second, errors.New("no event within 10 seconds"))
	defer factory.Shutdown()
	defer stop()
	factory.Start(ctx.Done())
	for informer, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			t.Fatalf("the informer of %s has not synced", informer)
		}
	}
	expect := func(want string) {
		t.Helper()
		select {
		case got := <-events:
			if got != want {
				t.Fatalf("got event %q, want %q", got, want)
			}
		case <-ctx.Done():
			t.Fatalf("waiting for %q: %v", want, context.Cause(ctx))
		}
	}
	expect("added first")

	api := clients.HypershiftV1beta1().HostedClusters("clusters")
	second, err := api.Create(ctx, hostedCluster("second"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	expect("added second")
	second.Spec.InfraID = "second-x7k2p"
	if _, err := api.Update(ctx, second, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	expect("changed second-x7k2p")
	if all, err := clusters.Lister().HostedClusters("clusters").List(labels.Everything()); err != nil || len(all) != 2 {
		t.Errorf("the lister has %d clusters, %v; want 2", len(all), err)
	}
	if err := api.Delete(ctx, "first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	expect("deleted first")
	if _, err := clusters.Lister().HostedClusters("clusters").Get("first"); !apierrors.IsNotFound(err) {
		t.Errorf("the lister returned %v for a deleted cluster, want not found", err)
	}
}

// README.md describes how the fake differs from an API server. If this fails, change README.md too.
func TestFakeAppliesWithoutFieldOwners(t *testing.T) {
	api := newFake(hostedCluster("first")).HypershiftV1beta1().HostedClusters("clusters")
	for _, spec := range []*hyperv1apply.HostedClusterSpecApplyConfiguration{
		hyperv1apply.HostedClusterSpec().WithInfraID("first-x7k2p"),
		hyperv1apply.HostedClusterSpec().WithPausedUntil("true"), // an API server would now remove infraID
	} {
		config := hyperv1apply.HostedCluster("first", "clusters").WithSpec(spec)
		if _, err := api.Apply(t.Context(), config, metav1.ApplyOptions{FieldManager: "example", Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := api.Get(t.Context(), "first", metav1.GetOptions{})
	if err != nil || got.Spec.InfraID != "first-x7k2p" || got.Spec.PausedUntil == nil {
		t.Errorf("got %v, infraID %q, pausedUntil %v; want both fields", err, got.Spec.InfraID, got.Spec.PausedUntil)
	}
}

// NewClientset does not work with these types: it needs an OpenAPI schema, which client-gen cannot make from CRDs.
func newFake(objects ...runtime.Object) clientset.Interface {
	return fake.NewSimpleClientset(objects...)
}
