package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// observedKinds are the kinds whose objects are lines of a timeline.
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

// timeline records when the objects of hosted clusters appear, and when their conditions and containers change.
type timeline struct {
	began time.Time
	stop  context.CancelFunc
	done  sync.WaitGroup

	mu    sync.Mutex
	lines []moment
	// facts are the facts that the last state of an object had, by object.
	facts map[string]map[string]string
}

// moment is one line of a timeline.
type moment struct {
	at           time.Duration // since the timeline began
	object, what string
}

// startTimeline observes everything that belongs to the clusters, until end is called.
func (b *labBench) startTimeline(ctx context.Context, all []client.ObjectKey) (*timeline, error) {
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
	t := &timeline{began: time.Now(), stop: stop, facts: map[string]map[string]string{}}
	for _, kind := range observedKinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		w, err := c.Watch(ctx, list)
		if err != nil {
			stop()
			return nil, fmt.Errorf("observing %s: %w", kind.Kind, err)
		}
		t.done.Go(func() {
			defer w.Stop()
			for event := range w.ResultChan() {
				if obj, ok := event.Object.(*unstructured.Unstructured); ok && belongs(obj) {
					t.record(event.Type, obj)
				}
			}
		})
	}
	return t, nil
}

// record adds a line for each fact of the object that is new.
func (t *timeline) record(event watch.EventType, obj *unstructured.Unstructured) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := time.Since(t.began)
	name := obj.GetKind() + " " + obj.GetName()
	if event == watch.Deleted {
		delete(t.facts, name)
		t.lines = append(t.lines, moment{at, name, "deleted"})
		return
	}
	before, known := t.facts[name]
	now := factsOf(obj)
	t.facts[name] = now
	changes := changesOf(before, now)
	if !known {
		changes = append([]string{"created"}, changes...)
	}
	if changes != nil {
		t.lines = append(t.lines, moment{at, name, strings.Join(changes, ", ")})
	}
}

// factsOf returns the status of an object and the readiness of endpoints, by path. Conditions and containers have their
// type or name in the path.
func factsOf(obj *unstructured.Unstructured) map[string]string {
	facts := map[string]string{}
	for _, part := range []string{"status", "endpoints"} {
		addFacts(facts, "", obj.Object[part])
	}
	return facts
}

func addFacts(facts map[string]string, path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, each := range v {
			if name != "lastTransitionTime" && name != "observedGeneration" && name != "lastUpdateTime" {
				addFacts(facts, strings.TrimPrefix(path+"."+name, "."), each)
			}
		}
	case []any:
		for i, each := range v {
			addFacts(facts, path+"["+nameOf(each, i)+"]", each)
		}
	case nil:
	default:
		facts[path] = fmt.Sprint(v)
	}
}

// nameOf returns what identifies an element of a list.
func nameOf(element any, index int) string {
	if e, ok := element.(map[string]any); ok {
		for _, key := range []string{"type", "name", "key"} {
			if name, ok := e[key].(string); ok {
				return name
			}
		}
	}
	return fmt.Sprint(index)
}

// changesOf describes the difference of two sets of facts. Long values are cut off.
func changesOf(before, now map[string]string) []string {
	const longest = 40
	var changes []string
	for path, value := range now {
		if before[path] == value || strings.HasSuffix(path, "].type") || strings.HasSuffix(path, "].name") {
			continue
		}
		if len(value) > longest {
			value = value[:longest] + "…"
		}
		changes = append(changes, strings.TrimPrefix(path, "conditions")+"="+value)
	}
	for path := range before {
		if _, ok := now[path]; !ok {
			changes = append(changes, path+" removed")
		}
	}
	slices.Sort(changes)
	return changes
}

// mark adds a line of the benchmark itself.
func (t *timeline) mark(what string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, moment{time.Since(t.began), "bench", what})
}

// end stops the observation and prints the lines, once.
func (t *timeline) end(w io.Writer) {
	if t == nil {
		return
	}
	t.stop()
	t.done.Wait()
	defer func() { t.lines = nil }()
	slices.SortStableFunc(t.lines, func(a, b moment) int { return int(a.at - b.at) })
	for _, l := range t.lines {
		_, _ = fmt.Fprintf(w, "%8.2f s  %-60s %s\n", l.at.Seconds(), l.object, l.what)
	}
}
