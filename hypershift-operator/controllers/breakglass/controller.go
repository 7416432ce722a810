package breakglass

import (
	"context"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	certificatesv1alpha1 "github.com/hosted-control-planes/hypershift/api/certificates/v1alpha1"
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Options configure a Reconciler.
type Options struct {
	Client client.Client
	// Reader reads past the cache: an approval that was deleted must not count, and Secrets are not cached.
	Reader   client.Reader
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
}

// Reconciler approves and signs requests.
type Reconciler struct{ Options }

type (
	request = certificatesv1.CertificateSigningRequest
	// Controller reconciles CertificateSigningRequests.
	Controller = reconcile.Controller[*request, *scope]
)

// New returns the controller.
func New(opts Options) *Controller {
	r := &Reconciler{Options: opts}
	steps := []reconcile.Step[*scope]{
		{Name: "approval", Run: r.approve},
		{Name: "certificate", Run: r.sign},
	}
	return &Controller{
		Name: "breakglass", Client: opts.Client, Clock: opts.Clock,
		Scope: r.scope,
		Phase: func(*scope) []reconcile.Step[*scope] { return steps },
	}
}

// approvals are the kinds of approvals. Both have the same effect.
func approvals() []client.Object {
	return []client.Object{&certificatesv1alpha1.CertificateSigningRequestApproval{}, &hyperv1.CertificateSigningRequestApproval{}}
}

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	c := New(opts)
	b := c.Builder(mgr).For(&request{}, builder.WithPredicates(predicate.NewPredicateFuncs(func(obj client.Object) bool {
		return names.BreakGlassNamespace(obj.(*request).Spec.SignerName) != ""
	})))
	for _, kind := range approvals() {
		b = b.Watches(kind, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, obj client.Object) []ctrl.Request {
			return []ctrl.Request{{NamespacedName: client.ObjectKey{Name: obj.GetName()}}}
		}))
	}
	return b.Complete(c)
}

// Trim removes the content of requests for other signers from a cache. An informer may pass an object a second time, while others read it.
func Trim(obj any) (any, error) {
	if csr, ok := obj.(*request); ok && len(csr.Spec.Request) > 0 && names.BreakGlassNamespace(csr.Spec.SignerName) == "" {
		csr.Spec.Request, csr.Spec.Extra, csr.Spec.Groups, csr.Status.Certificate = nil, nil, nil, nil
	}
	return obj, nil
}

// scope holds the facts of one reconcile.
type scope struct {
	csr *request
	hcp *hyperv1.HostedControlPlane
}

// scope skips requests for other signers, and those that are decided.
func (r *Reconciler) scope(ctx context.Context, csr *request, _ *reconcile.Writer[*request]) (*scope, error) {
	namespace := names.BreakGlassNamespace(csr.Spec.SignerName)
	if namespace == "" || has(csr, certificatesv1.CertificateDenied) || has(csr, certificatesv1.CertificateFailed) || len(csr.Status.Certificate) > 0 {
		return nil, reconcile.Skip(0)
	}
	planes := &hyperv1.HostedControlPlaneList{}
	if err := r.Client.List(ctx, planes, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing HostedControlPlanes of namespace %s: %w", namespace, err)
	}
	if len(planes.Items) != 1 || !planes.Items[0].DeletionTimestamp.IsZero() {
		return nil, reconcile.Skip(0)
	}
	return &scope{csr: csr, hcp: &planes.Items[0]}, nil
}

func has(csr *request, conditionType certificatesv1.RequestConditionType) bool {
	for _, condition := range csr.Status.Conditions {
		if condition.Type == conditionType {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
