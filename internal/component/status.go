package component

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// State is the status of a component.
type State struct {
	Name string
	// Available is true while it works.
	Available bool
	// RolledOut is true when all its pods are up to date and ready.
	RolledOut bool
	// Version is the version of the last completed rollout, empty if there was none.
	Version string
	// Reason and Message describe why it is not rolled out.
	Reason, Message string
	// Degraded is true when it fails, and does not just take time.
	Degraded bool
	// Unreported is true while its status has not been written. The caller reconciles again after FirstReport.
	Unreported bool
}

// Asleep is the message about a component that has no pods because the control plane sleeps.
const Asleep = "the control plane sleeps"

// evaluateState computes the State of a component after it was applied.
func (r *Runner) evaluateState(ctx context.Context, plane ControlPlane, p *part) (State, error) {
	failed, changed := p.failure(), p.changed || p.host != nil && p.host.changed
	s := State{Name: p.Name, Available: p.available}
	if p.status != nil {
		s.Version = p.status.Status.Version
	}
	if p.stops() && failed == nil {
		s.Available, s.Reason, s.Message = false, hyperv1.AsleepReason, Asleep
		return s, nil // no pod has run this version yet
	}
	if p.complete && !changed {
		s.Version = p.version
		s.RolledOut = failed == nil && p.waits == "" && p.version == plane.Version
	}
	if s.RolledOut {
		return s, nil
	}
	var cause problem
	var err error
	if p.live != nil && !p.complete {
		cause, err = r.problem(ctx, p)
	}
	s.Degraded = cause.reason != "" || failed != nil
	switch {
	case failed != nil:
		cause = problem{hyperv1.ReconciliationErrorReason, shortened(failed.Error())}
	case cause.reason != "":
	case p.live != nil && s.Version == "": // pods that are started for the first time wait by themselves
		cause = problem{hyperv1.WaitingForRolloutCompleteReason, "its pods are being started"}
	case p.waits != "":
		cause = problem{hyperv1.WaitingForDependenciesReason, p.waits}
	case p.live == nil || plane.HCP.SleepPhase() == hyperv1.SleepPhaseWaking:
		cause = problem{hyperv1.WaitingForRolloutCompleteReason, "its pods are being started"}
	case changed || p.replacing || p.starting || p.complete:
		cause = problem{hyperv1.WaitingForRolloutCompleteReason, "its pods are being replaced"}
	default: // it was complete, and its objects are unchanged
		cause = problem{hyperv1.PodsNotReadyReason, "it has fewer pods ready than it should"}
		s.Degraded = true
	}
	s.Reason, s.Message = cause.reason, cause.message
	return s, err
}

// desiredStatus returns the ControlPlaneComponent. Its status is written separately.
func desiredStatus(hcp *hyperv1.HostedControlPlane, component string) *hyperv1.ControlPlaneComponent {
	out := &hyperv1.ControlPlaneComponent{ObjectMeta: metav1.ObjectMeta{Namespace: hcp.Namespace, Name: component}}
	if cluster := hcp.Annotations[hyperv1.HostedClusterAnnotation]; cluster != "" {
		out.Annotations = map[string]string{hyperv1.HostedClusterAnnotation: cluster}
	}
	return out
}

// statusOf returns the existing ControlPlaneComponent, or nil.
func (r *Runner) statusOf(ctx context.Context, namespace, component string) (*hyperv1.ControlPlaneComponent, error) {
	out, err := r.status.Get(ctx, client.ObjectKey{Namespace: namespace, Name: component})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getting component %s: %w", component, err)
	}
	return out, nil
}

// FirstReport is how long a new component may start before its status is written for the first time, if it does not fail. Most
// components are available by then, and the only report is the result.
const FirstReport = 10 * time.Second

// starting is true for a new component without a result to report.
func (r *Runner) starting(c *hyperv1.ControlPlaneComponent, s State) bool {
	return len(c.Status.Conditions) == 0 && !s.Available && !s.Degraded && r.Clock.Since(c.CreationTimestamp.Time) < FirstReport
}

// writeStatus writes the status of the ControlPlaneComponent. A new one has no status yet; the event of its creation triggers
// the next reconcile, which writes it.
func (r *Runner) writeStatus(ctx context.Context, plane ControlPlane, p *part, s State) error {
	if p.status == nil || r.starting(p.status, s) {
		return nil
	}
	written := r.status.Writer(p.status)
	status := &p.status.Status
	status.ObservedGeneration = plane.HCP.Generation
	status.Version = s.Version
	if p.Err == nil {
		status.Resources = r.resources(p)
	}
	for _, c := range s.conditions() {
		c.ObservedGeneration = plane.HCP.Generation
		reconcile.SetCondition(&status.Conditions, c, r.Clock.Now())
	}
	return written.Write(ctx)
}

func (s State) conditions() []metav1.Condition {
	available := metav1.Condition{Type: hyperv1.ControlPlaneComponentAvailable, Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason}
	if !s.Available {
		available.Status, available.Reason, available.Message = metav1.ConditionFalse, s.Reason, s.Message
	}
	rolledOut := metav1.Condition{Type: hyperv1.ControlPlaneComponentRolloutComplete, Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason}
	if !s.RolledOut {
		rolledOut.Status, rolledOut.Reason, rolledOut.Message = metav1.ConditionFalse, s.Reason, s.Message
	}
	return []metav1.Condition{available, rolledOut}
}

// resources lists the objects of the component, and the workload with its pods.
func (r *Runner) resources(p *part) []hyperv1.ComponentResource {
	objs := p.Objects
	if p.host != nil {
		objs = append(slices.Clone(objs), p.Workload)
	}
	var out []hyperv1.ComponentResource
	for _, obj := range objs {
		if gvk, err := apiutil.GVKForObject(obj, r.Scheme); err == nil { // otherwise it could not have been applied
			out = append(out, hyperv1.ComponentResource{Group: gvk.Group, Kind: gvk.Kind, Name: obj.GetName()})
		}
	}
	slices.SortFunc(out, func(a, b hyperv1.ComponentResource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return out
}
