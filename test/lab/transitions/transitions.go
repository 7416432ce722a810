// Package transitions records every change of a condition of a HostedCluster. Polling would miss a condition that is False
// only for a moment.
package transitions

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Transition is a new state of the condition.
type Transition struct {
	At              time.Time
	Status          metav1.ConditionStatus
	Reason, Message string
}

func (t Transition) String() string {
	return fmt.Sprintf("%s %s %s: %s", t.At.UTC().Format("15:04:05.000"), t.Status, t.Reason, t.Message)
}

func (t Transition) same(as Transition) bool {
	return t.Status == as.Status && t.Reason == as.Reason && t.Message == as.Message
}

// Watch watches one condition.
type Watch struct {
	client    client.WithWatch
	key       client.ObjectKey
	condition string
	cancel    context.CancelFunc
	ended     chan struct{}

	mu   sync.Mutex
	seen []Transition
	err  error
}

// Start begins with the current state of the condition. The scheme of the client must contain HostedClusters.
func Start(ctx context.Context, c client.WithWatch, hostedCluster client.ObjectKey, condition string) (*Watch, error) {
	w := &Watch{client: c, key: hostedCluster, condition: condition, ended: make(chan struct{})}
	list := &hyperv1.HostedClusterList{}
	if err := c.List(ctx, list, w.only("")); err != nil {
		return nil, fmt.Errorf("watching HostedCluster %s: %w", hostedCluster, err)
	}
	if len(list.Items) != 1 {
		return nil, fmt.Errorf("watching HostedCluster %s: there are %d", hostedCluster, len(list.Items))
	}
	w.observe(&list.Items[0])
	ctx, w.cancel = context.WithCancel(ctx)
	first, err := w.from(ctx, list.ResourceVersion)
	if err != nil {
		w.cancel()
		return nil, err
	}
	go w.run(ctx, first, list.ResourceVersion)
	return w, nil
}

// Stop ends the watch and returns the transitions, the oldest first. After an error, some may be missing.
func (w *Watch) Stop() ([]Transition, error) {
	w.cancel()
	<-w.ended
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen, w.err
}

func (w *Watch) only(version string) client.ListOption {
	return &client.ListOptions{
		Namespace: w.key.Namespace, FieldSelector: fields.OneTermEqualSelector("metadata.name", w.key.Name),
		Raw: &metav1.ListOptions{ResourceVersion: version},
	}
}

func (w *Watch) from(ctx context.Context, version string) (watch.Interface, error) {
	watcher, err := w.client.Watch(ctx, &hyperv1.HostedClusterList{}, w.only(version))
	if err != nil {
		return nil, fmt.Errorf("watching HostedCluster %s: %w", w.key, err)
	}
	return watcher, nil
}

// run continues where a watch has ended; the API server ends every watch after some time.
func (w *Watch) run(ctx context.Context, watcher watch.Interface, version string) {
	defer close(w.ended)
	for {
		var err error
		version, err = w.follow(ctx, watcher, version)
		if err == nil && ctx.Err() == nil {
			watcher, err = w.from(ctx, version)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			w.mu.Lock()
			w.err = err
			w.mu.Unlock()
			return
		}
	}
}

// follow returns the resource version of the last event.
func (w *Watch) follow(ctx context.Context, watcher watch.Interface, version string) (string, error) {
	defer watcher.Stop()
	for {
		var event watch.Event
		open := false
		select {
		case event, open = <-watcher.ResultChan():
		case <-ctx.Done():
		}
		if !open {
			return version, nil
		}
		hc, ok := event.Object.(*hyperv1.HostedCluster)
		if !ok {
			return version, fmt.Errorf("watching HostedCluster %s: %+v", w.key, event.Object)
		}
		version = hc.ResourceVersion
		if event.Type != watch.Deleted {
			w.observe(hc)
		}
	}
}

func (w *Watch) observe(hc *hyperv1.HostedCluster) {
	t := Transition{At: time.Now(), Status: metav1.ConditionUnknown, Reason: "Absent", Message: "there is no such condition"}
	if c := meta.FindStatusCondition(hc.Status.Conditions, w.condition); c != nil {
		t.Status, t.Reason, t.Message = c.Status, c.Reason, c.Message
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.seen); n == 0 || !w.seen[n-1].same(t) {
		w.seen = append(w.seen, t)
	}
}
