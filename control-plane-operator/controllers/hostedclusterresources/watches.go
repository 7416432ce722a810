package hostedclusterresources

import (
	"context"
	"sync/atomic"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A watchSource watches hosted clusters without a cache: an event triggers a reconcile, which reads the objects. A cache would be
// larger than the rest of the operator in a cluster with many nodes.
type watchSource struct{ opening chan *hostedWatch }

func newWatchSource() *watchSource { return &watchSource{opening: make(chan *hostedWatch, 4)} }

// A hostedWatch is one watch. The reconcile after its end opens it again.
type hostedWatch struct {
	request reconcile.Request
	// start opens the watch at the resource version of the last read.
	start func(context.Context) (watch.Interface, error)
	// triggers returns whether an event triggers a reconcile.
	triggers func(watch.EventType) bool
	open     atomic.Bool
	closed   <-chan struct{}
}

// ensureWatches opens the watches that are not open.
func (r *Reconciler) ensureWatches(_ context.Context, s *scope) error {
	// A change of a node does not change the number of nodes.
	r.ensureWatch(s, "nodes", func(t watch.EventType) bool { return t != watch.Modified }, metadata("NodeList"), s.nodesVersion)
	added := func(t watch.EventType) bool { return t == watch.Added }
	r.ensureWatch(s, "requests", added, requestsMetadata(), s.servingVersion, ofKubeletServing)
	r.ensureWatch(s, "joins", added, requestsMetadata(), s.joinVersion, ofKubeletClient)
	r.ensureWatch(s, "nodeclaims", func(watch.EventType) bool { return true }, claimsMetadata(), s.claimsVersion)
	r.ensureMonitor(s)
	return nil
}

// requestsMetadata is a list of certificate requests that has only their metadata.
func requestsMetadata() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequestList"))
	return list
}

// claimsMetadata is a list of NodeClaims that has only their metadata.
func claimsMetadata() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(listOf(nodeClaimKind).GroupVersionKind())
	return list
}

// ensureWatch opens a watch of objects from the version of the last read; without one it does nothing.
func (r *Reconciler) ensureWatch(s *scope, name string, triggers func(watch.EventType) bool, list *metav1.PartialObjectMetadataList, from string, opts ...client.ListOption) {
	if from == "" {
		return
	}
	c := s.hosted.client
	r.openWatch(s, name, triggers, func(ctx context.Context) (watch.Interface, error) {
		return c.Watch(ctx, list, append(opts, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: from}})...)
	})
}

// openWatch opens a watch unless it is open.
func (r *Reconciler) openWatch(s *scope, name string, triggers func(watch.EventType) bool, start func(context.Context) (watch.Interface, error)) {
	w := s.hosted.watches[name]
	if w == nil {
		w = &hostedWatch{request: reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s.hcp)}, triggers: triggers, closed: s.hosted.closed}
		s.hosted.watches[name] = w
	}
	if !w.open.CompareAndSwap(false, true) {
		return
	}
	w.start = start
	select {
	case r.watches.opening <- w:
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

func (w *hostedWatch) run(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
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

func (w *hostedWatch) enqueueEvents(ctx context.Context, events watch.Interface, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
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
