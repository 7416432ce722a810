package console

import (
	"context"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/web"
)

var demo = types.NamespacedName{Namespace: "clusters", Name: "demo"}

// fakeAPI has one HostedCluster. refuse is what admission returns for a dry run; dryRuns and writes count patches.
type fakeAPI struct {
	client.Client
	refuse          error
	dryRuns, writes int
}

func newAPI() *fakeAPI {
	m := &fakeAPI{}
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: demo.Namespace, Name: demo.Name}}
	hc.Spec.Release.Image = "release:1"
	m.Client = fake.NewClientBuilder().WithScheme(clustertree.Scheme()).WithObjects(hc).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			var o client.PatchOptions
			o.ApplyOptions(opts)
			if len(o.DryRun) > 0 {
				m.dryRuns++
				return m.refuse
			}
			m.writes++
			return c.Patch(ctx, obj, patch, opts...)
		},
	}).Build()
	return m
}

func (m *fakeAPI) cluster(t *testing.T) *hyperv1.HostedCluster {
	t.Helper()
	hc := &hyperv1.HostedCluster{}
	if err := m.Get(t.Context(), demo, hc); err != nil {
		t.Fatal(err)
	}
	return hc
}

func TestChangesAreMadeAfterADryRun(t *testing.T) {
	m := newAPI()
	for _, change := range []web.Change{{Pause: true}, {Release: "release:2"}} {
		if err := apply(t.Context(), m, demo, change); err != nil {
			t.Fatal(err)
		}
	}
	if hc := m.cluster(t); hc.Spec.PausedUntil == nil || *hc.Spec.PausedUntil != "true" || hc.Spec.Release.Image != "release:2" || m.dryRuns != 2 || m.writes != 2 {
		t.Errorf("%+v after %d dry runs and %d writes", hc.Spec, m.dryRuns, m.writes)
	}
	if err := apply(t.Context(), m, demo, web.Change{Resume: true}); err != nil {
		t.Fatal(err)
	}
	if hc := m.cluster(t); hc.Spec.PausedUntil != nil {
		t.Errorf("the cluster is paused until %s", *hc.Spec.PausedUntil)
	}
}

func TestARefusedChangeIsNotMade(t *testing.T) {
	m := newAPI()
	m.refuse = errors.New("spec.release.image: a minor version is never skipped")
	err := apply(t.Context(), m, demo, web.Change{Release: "release:3"})
	if err == nil || !strings.Contains(err.Error(), "never skipped") || m.writes != 0 || m.cluster(t).Spec.Release.Image != "release:1" {
		t.Errorf("%v, %d writes", err, m.writes)
	}
}

func TestWrongPortIsAnErrorOfTheCommandLine(t *testing.T) {
	o := options{port: 70000}
	var usage *operation.UsageError
	if err := o.run(t.Context(), operation.Environment{Clock: clock.RealClock{}}); !errors.As(err, &usage) {
		t.Errorf("got %v", err)
	}
}
