package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// Step is a step in the life of an object.
type Step int

// The steps, in their usual order.
const (
	Created Step = iota
	Scheduled
	Started
	Ready
	steps
)

func (s Step) String() string { return [...]string{"created", "scheduled", "started", "ready"}[s] }

// line is an object, a container, or a mark.
type line struct {
	kind, namespace, name string
	at                    [steps]time.Duration // since the timeline began; unset: negative
	restarts              int64
	deleted               bool
}

// first is the time of the first known step.
func (l *line) first() time.Duration {
	for _, at := range l.at {
		if at >= 0 {
			return at
		}
	}
	return 0
}

// reach sets the time of a step, once.
func (l *line) reach(s Step, at time.Duration, reached bool) {
	if reached && l.at[s] < 0 {
		l.at[s] = at
	}
}

// Timeline collects the steps of objects. It can be used by several goroutines.
type Timeline struct {
	mu    sync.Mutex
	lines []*line
	// changes are the times of all events.
	changes []change
}

// change is an event of an object, or a mark.
type change struct {
	at   time.Duration
	what string
}

// of returns the line of an object or container, new ones with no step.
func (t *Timeline) of(kind, namespace, name string) *line {
	i := slices.IndexFunc(t.lines, func(l *line) bool {
		return l.kind == kind && l.namespace == namespace && l.name == name && !l.deleted
	})
	if i >= 0 {
		return t.lines[i]
	}
	l := &line{kind: kind, namespace: namespace, name: name}
	for s := range l.at {
		l.at[s] = -1
	}
	t.lines = append(t.lines, l)
	return l
}

// Mark adds a line of the observer, such as the first answer of an API server.
func (t *Timeline) Mark(at time.Duration, what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of(marks, "", what).reach(Created, at, true)
	t.changes = append(t.changes, change{at, marks + " " + what})
}

// marks is the kind of the lines of the observer.
const marks = "──"

// Record adds the steps that an object has reached.
func (t *Timeline) Record(at time.Duration, event watch.EventType, obj *unstructured.Unstructured) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kind := obj.GetKind()
	t.changes = append(t.changes, change{at, kind + " " + obj.GetName()})
	if kind == "EndpointSlice" {
		// The state of a Service, which a label names.
		if service := obj.GetLabels()["kubernetes.io/service-name"]; service != "" {
			t.of("Service", obj.GetNamespace(), service).reach(Ready, at, event != watch.Deleted && endpointReady(obj))
		}
		return
	}
	l := t.of(kind, obj.GetNamespace(), obj.GetName())
	if event == watch.Deleted {
		l.deleted = true
		return
	}
	l.reach(Created, at, true)
	switch kind {
	case "Pod":
		t.pod(l, at, obj)
	case "Deployment":
		l.workload(at, obj, "availableReplicas")
	case "StatefulSet":
		l.workload(at, obj, "readyReplicas")
	case "Service":
		ingress, _, _ := unstructured.NestedSlice(obj.Object, "status", "loadBalancer", "ingress")
		l.reach(Started, at, len(ingress) > 0)
	case "PersistentVolumeClaim":
		phase, _, _ := unstructured.NestedString(obj.Object, "status", "phase")
		l.reach(Ready, at, phase == "Bound")
	default:
		l.reach(Ready, at, isTrue(obj, "Available"))
	}
}

// pod adds the steps of a Pod and of its containers.
func (t *Timeline) pod(l *line, at time.Duration, pod *unstructured.Unstructured) {
	l.reach(Scheduled, at, isTrue(pod, "PodScheduled"))
	for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
		statuses, _, _ := unstructured.NestedSlice(pod.Object, "status", field)
		for _, s := range statuses {
			status, ok := s.(map[string]any)
			if !ok {
				continue
			}
			_, running, _ := unstructured.NestedMap(status, "state", "running")
			code, ended, _ := unstructured.NestedInt64(status, "state", "terminated", "exitCode")
			ready, _, _ := unstructured.NestedBool(status, "ready")
			restarts, _, _ := unstructured.NestedInt64(status, "restartCount")
			if !running && !ended && restarts == 0 {
				continue
			}
			name, _, _ := unstructured.NestedString(status, "name")
			c := t.of("container", l.namespace, l.name+"/"+name)
			c.reach(Started, at, true)
			c.reach(Ready, at, running && ready || field == "initContainerStatuses" && ended && code == 0)
			c.restarts = max(c.restarts, restarts)
			l.reach(Started, at, true)
		}
	}
	l.reach(Ready, at, isTrue(pod, "Ready"))
}

// workload adds the steps of a Deployment or StatefulSet; complete is the field of its status with the number of pods that work.
func (l *line) workload(at time.Duration, obj *unstructured.Unstructured, complete string) {
	want, set, _ := unstructured.NestedInt64(obj.Object, "spec", "replicas")
	if !set {
		want = 1
	}
	exist, _, _ := unstructured.NestedInt64(obj.Object, "status", "replicas")
	work, _, _ := unstructured.NestedInt64(obj.Object, "status", complete)
	l.reach(Started, at, exist > 0)
	l.reach(Ready, at, exist > 0 && work >= want)
}

// isTrue reports whether a condition of an object is True.
func isTrue(obj *unstructured.Unstructured, condition string) bool {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		of, ok := c.(map[string]any)
		return ok && of["type"] == condition && of["status"] == "True"
	})
}

// endpointReady reports whether an EndpointSlice contains a ready endpoint.
func endpointReady(slice *unstructured.Unstructured) bool {
	endpoints, _, _ := unstructured.NestedSlice(slice.Object, "endpoints")
	return slices.ContainsFunc(endpoints, func(e any) bool {
		endpoint, ok := e.(map[string]any)
		if !ok {
			return false
		}
		ready, known, _ := unstructured.NestedBool(endpoint, "conditions", "ready")
		return ready || !known // the API: unknown counts as ready
	})
}

// Wait is the time between two steps of an object.
type Wait struct {
	What       string
	Begin, End time.Duration
}

// Length is the duration.
func (w Wait) Length() time.Duration { return w.End - w.Begin }

// Waits are the times between the steps of pods, containers, claims and load balancers, the longest first. The waits of Deployments,
// endpoints and kinds of hypershift are the waits of their pods. until is the end of the observed operation: steps that begin later
// are left out; 0 is no end.
func (t *Timeline) Waits(until time.Duration) []Wait {
	t.mu.Lock()
	defer t.mu.Unlock()
	names := t.names()
	var all []Wait
	add := func(l *line, from, to Step) {
		if begin, end := l.at[from], l.at[to]; begin >= 0 && end > begin && (until == 0 || begin < until) {
			all = append(all, Wait{fmt.Sprintf("%s: %s → %s", names(l), from, to), begin, end})
		}
	}
	for _, l := range t.lines {
		switch l.kind {
		case "Pod":
			add(l, Created, Scheduled)
			add(l, Scheduled, Started)
		case "container":
			add(l, Started, Ready)
		case "PersistentVolumeClaim":
			add(l, Created, Ready)
		case "Service":
			add(l, Created, Started)
		}
	}
	slices.SortStableFunc(all, func(a, b Wait) int { return cmp.Compare(b.Length(), a.Length()) })
	return all
}

// Pauses are the times in which no object changed, the longest first: then everything waits for a program that starts, or for a timer.
func (t *Timeline) Pauses(until time.Duration) []Wait {
	t.mu.Lock()
	defer t.mu.Unlock()
	changes := slices.Clone(t.changes)
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	var all []Wait
	for i := 1; i < len(changes); i++ {
		before, after := changes[i-1], changes[i]
		if after.at > before.at && (until == 0 || before.at < until) {
			all = append(all, Wait{fmt.Sprintf("after %s, before %s", before.what, after.what), before.at, after.at})
		}
	}
	slices.SortStableFunc(all, func(a, b Wait) int { return cmp.Compare(b.Length(), a.Length()) })
	return all
}

// names returns how lines are called. Pods in several namespaces are named with theirs.
func (t *Timeline) names() func(*line) string {
	namespaces := map[string]bool{}
	for _, l := range t.lines {
		if l.kind == "Pod" {
			namespaces[l.namespace] = true
		}
	}
	return func(l *line) string {
		name := l.name
		if len(namespaces) > 1 && l.namespace != "" {
			name = l.namespace + "/" + name
		}
		switch {
		case l.deleted:
			name += " (deleted)"
		case l.restarts > 0:
			name += fmt.Sprintf(" (restarts: %d)", l.restarts)
		}
		return strings.TrimSpace(l.kind + " " + name)
	}
}
