package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/lab/bench/report"
	"github.com/hosted-control-planes/hypershift/test/lab/bench/timeline"
)

// observedKinds are the kinds of the objects in a timeline.
var observedKinds = []schema.GroupVersionKind{
	hyperv1.GroupVersion.WithKind("HostedCluster"),
	hyperv1.GroupVersion.WithKind("HostedControlPlane"),
	hyperv1.GroupVersion.WithKind("ControlPlaneComponent"),
	{Version: "v1", Kind: "Namespace"},
	{Version: "v1", Kind: "Secret"},
	{Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Kind: "Service"},
	{Version: "v1", Kind: "PersistentVolumeClaim"},
	{Version: "v1", Kind: "Pod"},
	{Group: "apps", Version: "v1", Kind: "Deployment"},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"},
	{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"},
}

// withTimeline is the section of -timeline: the start of one hosted control plane, observed.
var withTimeline = section{name: "start of one hosted control plane", on: aLab, measure: onLab(observedStart)}

// observedStart prints the timeline of a start with images that are present.
func observedStart(ctx context.Context, l *labBench) ([]report.Row, error) {
	life, err := l.live(ctx, 1, hyperv1.SingleReplica, 0)
	if err != nil {
		return nil, err
	}
	single := &labLives{}
	single.add(life)
	return hostedControlPlaneLivesRows(single), nil
}

// observation records the timeline of a start from the watches of all objects that belong to it.
type observation struct {
	began time.Time
	stop  context.CancelFunc
	done  sync.WaitGroup
	line  timeline.Timeline
	ready time.Duration // when the last API server answered

	mu    sync.Mutex
	file  io.WriteCloser // of events; nil without -events
	wrote error
	ended bool
}

// observe observes everything that belongs to the clusters, until end is called. It writes the events to a file, if one is named.
func (b *labBench) observe(ctx context.Context, all []client.ObjectKey, events string) (*observation, error) {
	c, err := client.NewWithWatch(b.Config, client.Options{Scheme: b.management.Scheme()})
	if err != nil {
		return nil, err
	}
	belongs := func(obj client.Object) bool {
		return slices.ContainsFunc(all, func(hc client.ObjectKey) bool {
			namespace := controlPlane(hc)
			return obj.GetNamespace() == namespace || obj.GetName() == namespace || client.ObjectKeyFromObject(obj) == hc
		})
	}
	ctx, stop := context.WithCancel(ctx)
	o := &observation{began: time.Now(), stop: stop}
	if events != "" {
		if o.file, err = os.Create(events); err != nil {
			stop()
			return nil, fmt.Errorf("writing events: %w", err)
		}
	}
	for _, kind := range observedKinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		w, err := c.Watch(ctx, list)
		if err != nil {
			stop()
			return nil, fmt.Errorf("observing %s: %w", kind.Kind, err)
		}
		o.done.Go(func() {
			defer w.Stop()
			for event := range w.ResultChan() {
				if obj, ok := event.Object.(*unstructured.Unstructured); ok && belongs(obj) {
					o.add(timeline.Event{Type: event.Type, Object: withoutData(obj)})
				}
			}
		})
	}
	return o, nil
}

// withoutData removes fields that no timeline needs, above all the content of Secrets.
func withoutData(obj *unstructured.Unstructured) *unstructured.Unstructured {
	for _, field := range []string{"data", "stringData", "binaryData"} {
		unstructured.RemoveNestedField(obj.Object, field)
	}
	obj.SetManagedFields(nil)
	return obj
}

// add records an event now.
func (o *observation) add(e timeline.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	e.Seconds = time.Since(o.began).Seconds()
	o.line.Add(e)
	if o.file == nil || o.wrote != nil {
		return
	}
	text, err := json.Marshal(e)
	if err == nil {
		_, err = o.file.Write(append(text, '\n'))
	}
	o.wrote = err
}

// mark adds a line of the bench itself.
func (o *observation) mark(what string) {
	if o != nil {
		o.add(timeline.Event{Mark: what})
	}
}

// served adds the line of the first answer of the last API server, which ends the operation that waits.
func (o *observation) served() {
	if o == nil {
		return
	}
	o.mark("/readyz answers ok")
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ready = time.Since(o.began)
}

// end stops the observation and prints the timeline, once.
func (o *observation) end(w io.Writer) error {
	if o == nil || o.ended {
		return nil
	}
	o.ended = true
	o.stop()
	o.done.Wait()
	if o.file != nil {
		o.wrote = errors.Join(o.wrote, o.file.Close())
	}
	if o.wrote != nil {
		return fmt.Errorf("writing events: %w", o.wrote)
	}
	return o.line.Print(w, o.ready)
}
