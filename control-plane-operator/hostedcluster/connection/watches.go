package connection

import (
	"context"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A watchSource watches hosted clusters without a cache: an event triggers a reconcile, which reads the objects. A cache would be
// larger than the rest of the operator in a cluster with many nodes.
type watchSource struct{ opening chan *clusterWatch }

func newWatchSource() *watchSource { return &watchSource{opening: make(chan *clusterWatch, 4)} }

// A clusterWatch is one watch. The reconcile after its end starts it again.
type clusterWatch struct {
	request reconcile.Request
	// start opens the watch at the resource version of the last read.
	start func(context.Context) (watch.Interface, error)
	// triggers returns whether an event triggers a reconcile.
	triggers func(watch.EventType) bool
	open     atomic.Bool
	closed   <-chan struct{}
}

// WatchList watches objects from the resource version of the last read; without a version it returns at once. An event for which
// triggers returns true triggers a reconcile.
func (c *Cluster) WatchList(name string, triggers func(watch.EventType) bool, list client.ObjectList, resourceVersion string, opts ...client.ListOption) {
	if resourceVersion == "" {
		return
	}
	c.Watch(name, triggers, func(ctx context.Context) (watch.Interface, error) {
		return c.Client.Watch(ctx, list, append(opts, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: resourceVersion}})...)
	})
}

// Watch starts a watch unless the watch of this name runs. start opens it.
func (c *Cluster) Watch(name string, triggers func(watch.EventType) bool, start func(context.Context) (watch.Interface, error)) {
	w := c.watches[name]
	if w == nil {
		w = &clusterWatch{request: reconcile.Request{NamespacedName: c.object}, triggers: triggers, closed: c.closed}
		c.watches[name] = w
	}
	if !w.open.CompareAndSwap(false, true) {
		return
	}
	w.start = start
	select {
	case c.pool.watches.opening <- w:
	default: // the source is not started yet
		w.open.Store(false)
	}
}

// Start implements source.Source.
func (s *watchSource) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case w := <-s.opening:
				go w.run(ctx, queue)
			}
		}
	}()
	return nil
}

// reopenAfter is the delay between the end of a watch and the reconcile that opens it again.
const reopenAfter = 5 * time.Second

func (w *clusterWatch) run(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, err := w.start(ctx)
	if err == nil {
		w.enqueueEvents(ctx, events, queue)
		events.Stop()
	}
	w.open.Store(false)
	select {
	case <-ctx.Done():
	case <-w.closed:
	default:
		queue.AddAfter(w.request, reopenAfter)
	}
}

func (w *clusterWatch) enqueueEvents(ctx context.Context, events watch.Interface, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.closed:
			return
		case event, ok := <-events.ResultChan():
			if !ok || event.Type == watch.Error {
				return
			}
			if w.triggers(event.Type) {
				queue.Add(w.request)
			}
		}
	}
}
