package transitions

import (
	"context"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func hostedCluster(name string, status metav1.ConditionStatus, reason string) *hyperv1.HostedCluster {
	return &hyperv1.HostedCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: name},
		Status: hyperv1.HostedClusterStatus{Conditions: []metav1.Condition{
			{Type: hyperv1.HostedClusterProgressing, Status: metav1.ConditionFalse, Reason: reason},
			{Type: hyperv1.HostedClusterAvailable, Status: status, Reason: reason},
		}},
	}
}

func TestNoTransitionIsMissed(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := hyperv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	// The API server is a channel for each watch, which the test fills and closes.
	watches := make(chan *watch.FakeWatcher)
	c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithIndex(&hyperv1.HostedCluster{}, "metadata.name", func(o client.Object) []string {
		return []string{o.GetName()}
	}).WithObjects(hostedCluster("mine", metav1.ConditionTrue, "AsExpected"), hostedCluster("other", metav1.ConditionFalse, "Other")).Build(), interceptor.Funcs{
		Watch: func(ctx context.Context, _ client.WithWatch, _ client.ObjectList, _ ...client.ListOption) (watch.Interface, error) {
			w := watch.NewFake()
			select {
			case watches <- w:
				return w, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	})
	started := make(chan *Watch)
	go func() {
		w, err := Start(t.Context(), c, client.ObjectKey{Namespace: "clusters", Name: "mine"}, hyperv1.HostedClusterAvailable)
		if err != nil {
			t.Error(err)
		}
		started <- w
	}()
	first := <-watches
	w := <-started
	first.Modify(hostedCluster("mine", metav1.ConditionTrue, "AsExpected"))
	first.Modify(hostedCluster("mine", metav1.ConditionFalse, "Down"))
	first.Modify(hostedCluster("mine", metav1.ConditionTrue, "AsExpected"))
	first.Stop() // as API servers do
	second := <-watches
	second.Modify(hostedCluster("mine", metav1.ConditionUnknown, "NoAnswer"))
	second.Modify(&hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "mine"}})

	want := []string{"True AsExpected", "False Down", "True AsExpected", "Unknown NoAnswer", "Unknown Absent"}
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.seen) >= len(want), nil
	})
	if err != nil {
		t.Error(err)
	}
	seen, err := w.Stop()
	var got []string
	for _, s := range seen {
		got = append(got, string(s.Status)+" "+s.Reason)
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestBrokenWatchIsReported(t *testing.T) {
	w := &Watch{}
	watcher := watch.NewFakeWithChanSize(1, false)
	watcher.Error(&metav1.Status{Reason: metav1.StatusReasonExpired})
	watcher.Stop()
	if _, err := w.follow(t.Context(), watcher, "1"); err == nil {
		t.Error("what was missed is not reported")
	}
}
