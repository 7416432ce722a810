// Package etcdvolumes replaces a member of etcd whose volume is gone for good. A member of three gets all data from the others.
//
//	two of three members are ready ─► the third has not been ready for minutes ─► its volume does not exist ─► its claim and pod are deleted
//	                                                                                                               │
//	                     the StatefulSet creates others, and the member joins (package member) ◄───────────────────┘
//
// A volume does not exist if its PersistentVolume was deleted (phase Lost of the claim), or if EC2 does not know it (the error
// InvalidVolume.NotFound of an attachment). Everything else may pass: a machine or a zone that is down returns with its volumes. A single
// member, and a second of three, are not replaced: their data would be lost.
package etcdvolumes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/neighbours"
	warnings "github.com/hosted-control-planes/hypershift/internal/events"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

const (
	// patience is how long a member is not ready before its volume is examined.
	patience = 5 * time.Minute
	// interval is how often it is examined then.
	interval = time.Minute
)

// unknownVolume is in the message of the attachment of a volume that EC2 does not know:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
const unknownVolume = "InvalidVolume.NotFound"

// Options configure a Reconciler.
type Options struct {
	Client client.Client
	// Reader reads claims and Events, which are not cached.
	Reader   client.Reader
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
}

// Reconciler replaces volumes.
type Reconciler struct{ Options }

// scope holds the facts of one reconcile.
type scope struct {
	hcp *hyperv1.HostedControlPlane
	// lost is the pod of the only member that is not ready; nil without one.
	lost *corev1.Pod
}

// Controller reconciles HostedControlPlanes.
type Controller = reconcile.Controller[*hyperv1.HostedControlPlane, *scope]

// New returns the controller.
func New(opts Options) *Controller {
	r := &Reconciler{opts}
	steps := []reconcile.Step[*scope]{{Name: "members", Run: r.findMember}, {Name: "volume", Run: r.replaceVolume}}
	return &Controller{
		Name: "etcdvolumes", Client: opts.Client, Clock: opts.Clock,
		Scope: r.scope,
		Phase: func(*scope) []reconcile.Step[*scope] { return steps },
	}
}

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	c := New(opts)
	members := predicate.NewPredicateFuncs(func(obj client.Object) bool { return obj.GetLabels()["app"] == names.Etcd })
	return c.Builder(mgr).For(&hyperv1.HostedControlPlane{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Pod{}, neighbours.Handler(opts.Client), builder.WithPredicates(members)).
		Complete(c)
}

func (r *Reconciler) scope(_ context.Context, hcp *hyperv1.HostedControlPlane, _ *reconcile.Writer[*hyperv1.HostedControlPlane]) (*scope, error) {
	paused, remaining := hcp.Spec.PausedUntil.Paused(r.Clock.Now())
	switch {
	case hcp.Spec.Etcd.ManagementType == hyperv1.Unmanaged, etcd.Of(hcp).Size == 1, hcp.Sleeps(), !hcp.DeletionTimestamp.IsZero():
		return nil, reconcile.Skip(0)
	case paused:
		return nil, reconcile.Skip(remaining)
	}
	return &scope{hcp: hcp}, nil
}

// findMember finds the only member that is not ready, and waits until it has not been for a while.
func (r *Reconciler) findMember(ctx context.Context, s *scope) error {
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(s.hcp.Namespace), client.MatchingLabels{"app": names.Etcd}); err != nil {
		return fmt.Errorf("listing the members of etcd: %w", err)
	}
	members := etcd.Of(s.hcp).Members()
	var ready int
	var since time.Time
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !slices.Contains(members, pod.Name) {
			continue
		}
		if c := condition(pod); c != nil && c.Status == corev1.ConditionTrue {
			ready++
			continue
		} else if s.lost, since = pod, pod.CreationTimestamp.Time; c != nil {
			since = c.LastTransitionTime.Time
		}
	}
	if ready != len(members)-1 || s.lost == nil {
		s.lost = nil
		return nil
	}
	if left := patience - r.Clock.Since(since); left > 0 {
		return reconcile.Wait(left, hyperv1.WaitingForReason, "%s is not ready", s.lost.Name)
	}
	return nil
}

func condition(pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c
		}
	}
	return nil
}

// replaceVolume deletes the claim and the pod of a member whose volume does not exist. The claim is gone when the pod is.
func (r *Reconciler) replaceVolume(ctx context.Context, s *scope) error {
	if s.lost == nil {
		return nil
	}
	claim := &corev1.PersistentVolumeClaim{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.lost.Namespace, Name: etcd.Claim(s.lost.Name)}, claim)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("getting the volume claim of %s: %w", s.lost.Name, err)
	}
	if err != nil {
		return reconcile.Wait(interval, hyperv1.WaitingForReason, "%s has no volume claim yet", s.lost.Name)
	}
	why, err := r.whyLost(ctx, claim, s.lost)
	if err != nil {
		return err
	}
	if why == "" {
		return reconcile.Wait(interval, hyperv1.WaitingForReason, "%s is not ready, and its volume is not known to be lost", s.lost.Name)
	}
	if claim.DeletionTimestamp.IsZero() {
		r.Recorder.Eventf(s.hcp, nil, corev1.EventTypeWarning, "EtcdVolumeReplaced", "Replace", "%s gets another volume, and its data from the other members: %s", s.lost.Name, why)
		if err := reconcile.Delete(ctx, r.Client, claim); err != nil {
			return err
		}
	}
	return reconcile.Delete(ctx, r.Client, s.lost)
}

// whyLost returns why the volume does not exist, or "".
func (r *Reconciler) whyLost(ctx context.Context, claim *corev1.PersistentVolumeClaim, pod *corev1.Pod) (string, error) {
	switch {
	case !claim.DeletionTimestamp.IsZero():
		return "its volume claim is being deleted", nil
	case claim.Status.Phase == corev1.ClaimLost:
		return "the PersistentVolume " + claim.Spec.VolumeName + " does not exist", nil
	case pod.Status.Phase != corev1.PodPending:
		return "", nil // the volume is mounted
	}
	warning, err := warnings.LatestWarning(ctx, r.Reader, pod)
	if err != nil || !strings.Contains(warning, unknownVolume) {
		return "", err
	}
	return warning, nil
}
