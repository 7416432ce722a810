package metrics

import (
	"iter"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// buckets distinguish seconds from minutes; a transition of more than ten minutes is stuck.
var buckets = []float64{5, 10, 20, 30, 60, 90, 120, 180, 240, 300, 360, 480, 600}

// transitions measures how long new objects take until a condition is True for
// the first time. A later transition, or a transition before this operator led, is not its first time.
type transitions struct {
	durations  *prometheus.HistogramVec
	conditions []string
	// seen has for each object which of the conditions have been True.
	seen map[types.UID][]bool
}

func newTransitions(name, help string, conditions ...string) *transitions {
	return &transitions{
		durations:  prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{"condition"}),
		conditions: conditions,
		seen:       map[types.UID][]bool{},
	}
}

func clusterTransitions() *transitions {
	return newTransitions("hypershift_hosted_cluster_transition_seconds",
		"From the creation of a HostedCluster until the condition was True for the first time.",
		hyperv1.InfrastructureReady, hyperv1.ExternalDNSReachable, hyperv1.AWSEndpointServiceAvailable, hyperv1.AWSEndpointAvailable,
		hyperv1.EtcdAvailable, hyperv1.KubeAPIServerAvailable, hyperv1.HostedClusterAvailable)
}

func poolTransitions() *transitions {
	return newTransitions("hypershift_nodepools_transition_seconds",
		"From the creation of a NodePool until the condition was True for the first time.",
		hyperv1.NodePoolReachedIgnitionEndpointCondition, hyperv1.NodePoolAllMachinesReadyCondition,
		hyperv1.NodePoolAllNodesHealthyCondition, hyperv1.NodePoolReadyCondition)
}

// A subject is an object that may be new.
type subject struct {
	uid     types.UID
	created time.Time
	// grown is true when the object has passed every transition.
	grown      bool
	statements iter.Seq[statement]
}

func (w *world) clusterSubjects() iter.Seq[subject] {
	return func(yield func(subject) bool) {
		for i := range w.clusters {
			hc := &w.clusters[i]
			if !yield(subject{hc.UID, hc.CreationTimestamp.Time, installed(hc), conditionsOf(hc.Status.Conditions)}) {
				return
			}
		}
	}
}

func (w *world) poolSubjects() iter.Seq[subject] {
	return func(yield func(subject) bool) {
		for i := range w.pools {
			np := &w.pools[i]
			if !yield(subject{np.UID, np.CreationTimestamp.Time, rolledOut(np), poolConditionsOf(np.Status.Conditions)}) {
				return
			}
		}
	}
}

// start records the conditions that were True before.
func (t *transitions) start(subjects iter.Seq[subject]) {
	for s := range subjects {
		seen := make([]bool, len(t.conditions))
		for i := range t.turned(s) {
			seen[i] = true
		}
		if s.grown {
			seen = slices.Repeat([]bool{true}, len(t.conditions))
		}
		t.seen[s.uid] = seen
	}
}

// observe measures the conditions that have become True since, and forgets deleted objects.
func (t *transitions) observe(subjects iter.Seq[subject]) {
	before := t.seen
	t.seen = make(map[types.UID][]bool, len(before))
	for s := range subjects {
		seen := before[s.uid]
		if seen == nil {
			seen = make([]bool, len(t.conditions))
		}
		t.seen[s.uid] = seen
		for i, at := range t.turned(s) {
			if !seen[i] {
				seen[i] = true
				t.durations.WithLabelValues(t.conditions[i]).Observe(seconds(s.created, at))
			}
		}
	}
}

// turned are the conditions that are True, and since when.
func (t *transitions) turned(s subject) iter.Seq2[int, time.Time] {
	return func(yield func(int, time.Time) bool) {
		for statement := range s.statements {
			i := slices.Index(t.conditions, statement.condition)
			if i >= 0 && statement.status == metav1.ConditionTrue && !yield(i, statement.since) {
				return
			}
		}
	}
}
