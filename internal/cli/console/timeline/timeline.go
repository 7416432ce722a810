// Package timeline records the transitions of conditions that a watch observes. Kubernetes keeps only the last transition of each condition.
package timeline

import (
	"cmp"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
)

// maxPoints is how many transitions a lane keeps, the newest ones.
const maxPoints = 200

// Point is a transition: from Time on, the condition has this status.
type Point struct {
	Time            time.Time
	Status          metav1.ConditionStatus
	Normal          bool
	Reason, Message string
}

// Lane has the transitions of one condition, oldest first.
type Lane struct {
	Kind, Object, Condition string
	Points                  []Point
}

type laneKey struct{ kind, object, condition string }

// Recorder records the transitions of all clusters. It is safe for concurrent use.
type Recorder struct {
	mu       sync.Mutex
	clusters map[types.NamespacedName]map[laneKey][]Point
}

// NewRecorder returns an empty Recorder.
func NewRecorder() *Recorder {
	return &Recorder{clusters: map[types.NamespacedName]map[laneKey][]Point{}}
}

// Observe records the conditions of an object. The first observation of a condition begins at its last transition; a new reason
// with the same status begins at now.
func (r *Recorder) Observe(cluster types.NamespacedName, kind, object string, conditions []metav1.Condition, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	lanes := r.clusters[cluster]
	if lanes == nil {
		lanes = map[laneKey][]Point{}
		r.clusters[cluster] = lanes
	}
	for _, c := range conditions {
		key := laneKey{kind, object, c.Type}
		points := lanes[key]
		p := Point{Time: c.LastTransitionTime.Time, Status: c.Status, Normal: clustertree.IsNormal(kind, c), Reason: c.Reason, Message: c.Message}
		if n := len(points); n > 0 {
			last := &points[n-1]
			if last.Status == p.Status && last.Reason == p.Reason {
				last.Message, last.Normal = p.Message, p.Normal
				continue
			}
			if !p.Time.After(last.Time) {
				p.Time = now
			}
		}
		points = append(points, p)
		if len(points) > maxPoints {
			points = slices.Delete(points, 0, len(points)-maxPoints)
		}
		lanes[key] = points
	}
}

// Remove removes the lanes of an object that was deleted: they would continue with its last state.
func (r *Recorder) Remove(cluster types.NamespacedName, kind, object string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range r.clusters[cluster] {
		if key.kind == kind && key.object == object {
			delete(r.clusters[cluster], key)
		}
	}
}

// Forget removes a cluster.
func (r *Recorder) Forget(cluster types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.clusters, cluster)
}

// Lanes returns a copy of the lanes of a cluster, ordered by kind, object and condition.
func (r *Recorder) Lanes(cluster types.NamespacedName) []Lane {
	r.mu.Lock()
	defer r.mu.Unlock()
	lanes := []Lane{}
	for key, points := range r.clusters[cluster] {
		lanes = append(lanes, Lane{Kind: key.kind, Object: key.object, Condition: key.condition, Points: slices.Clone(points)})
	}
	slices.SortFunc(lanes, func(a, b Lane) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Condition, b.Condition))
	})
	return lanes
}
