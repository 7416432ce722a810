package certificaterevocation

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	certificatesv1alpha1 "github.com/hosted-control-planes/hypershift/api/certificates/v1alpha1"
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/certificates"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Options configure a Reconciler.
type Options struct {
	Client client.Client
	// Reader reads past the cache: a stage must not follow from old facts.
	Reader   client.Reader
	Scheme   *runtime.Scheme
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Accepts reports whether an API server accepts a client certificate; nil to connect to it.
	Accepts func(context.Context, Server, *pki.Leaf) (bool, error)
}

const (
	// interval is how often the API servers are checked. Nothing reports that they have read a file.
	interval = 10 * time.Second
	// deadline is how long the steps of a reconcile may take.
	deadline = 2 * time.Minute
	// setPrevious is the group of Secrets with previous authorities.
	setPrevious = "revoked-signer"

	enabled = "true"
)

// Reconciler revokes certificates.
type Reconciler struct {
	Options
	apply *apply.Applier
}

type (
	request = certificatesv1alpha1.CertificateRevocationRequest
	// Controller reconciles CertificateRevocationRequests.
	Controller = reconcile.Controller[*request, *scope]
)

// New returns the controller.
func New(opts Options) *Controller {
	r := &Reconciler{Options: opts, apply: apply.New(opts.Client, opts.Scheme, names.ControlPlaneOperator)}
	if r.Accepts == nil {
		r.Accepts = accepts
	}
	steps := []reconcile.Step[*scope]{
		{Name: "signer class", Condition: certificatesv1alpha1.SignerClassValid, Run: r.checkClass},
		{Name: "root certificates", Condition: certificatesv1alpha1.RootCertificatesRegenerated, Run: r.regenerate},
		{Name: "trust in certificates", Condition: certificatesv1alpha1.NewCertificatesTrusted, Run: r.verifyTrust},
		{Name: "leaf certificates", Condition: certificatesv1alpha1.LeafCertificatesRegenerated, Run: r.checkLeaves},
		{Name: "previous certificates", Condition: certificatesv1alpha1.PreviousCertificatesRevoked, Run: r.verifyRevocation},
	}
	return &Controller{
		Name: "certificaterevocationrequest", Client: opts.Client, Reader: opts.Reader, Clock: opts.Clock,
		Scope: r.scope,
		Phase: func(s *scope) []reconcile.Step[*scope] {
			if s.complete {
				return nil // a later revocation replaces the authority again
			}
			return steps
		},
		FieldOwner: names.ControlPlaneOperator, Fields: func(crr *request) any { return crr.Status },
		Written: r.report,
		Timeout: deadline,
	}
}

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	c := New(opts)
	all := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []ctrl.Request {
		list := &certificatesv1alpha1.CertificateRevocationRequestList{}
		if err := opts.Client.List(ctx, list, client.InNamespace(obj.GetNamespace())); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Listing CertificateRevocationRequests to wake up")
			return nil
		}
		var requests []ctrl.Request
		for i := range list.Items {
			requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
		return requests
	})
	return c.Builder(mgr).
		For(&request{}).
		Watches(&request{}, all). // the next one begins when another is complete
		Watches(&corev1.Secret{}, all, builder.WithPredicates(predicate.NewPredicateFuncs(func(s client.Object) bool {
			return s.GetName() == names.CustomerBreakGlassSigner || s.GetName() == names.CustomerBreakGlassCertificate
		}))).
		Watches(&hyperv1.HostedControlPlane{}, all, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Complete(c)
}

// scope holds the facts of one reconcile. The last word of a comment is the step that sets it.
type scope struct {
	crr *request
	hcp *hyperv1.HostedControlPlane
	// first is the request that is processed first, or nil.
	first *request
	// complete is true when nothing is left to do.
	complete bool

	signer  *pki.Signer // regenerate
	servers []Server    // verifyTrust, verifyRevocation
}

// scope skips a request that is being deleted, and the requests of a control plane that is.
func (r *Reconciler) scope(ctx context.Context, crr *request, _ *reconcile.Writer[*request]) (*scope, error) {
	planes, requests := &hyperv1.HostedControlPlaneList{}, &certificatesv1alpha1.CertificateRevocationRequestList{}
	if err := r.Client.List(ctx, planes, client.InNamespace(crr.Namespace)); err != nil {
		return nil, fmt.Errorf("listing HostedControlPlanes: %w", err)
	}
	if len(planes.Items) != 1 || !crr.DeletionTimestamp.IsZero() || !planes.Items[0].DeletionTimestamp.IsZero() {
		return nil, reconcile.Skip(0)
	}
	if err := r.Client.List(ctx, requests, client.InNamespace(crr.Namespace)); err != nil {
		return nil, fmt.Errorf("listing CertificateRevocationRequests: %w", err)
	}
	return &scope{crr: crr, hcp: &planes.Items[0], first: certificates.ActiveRevocation(requests.Items), complete: certificates.RevocationIsComplete(crr)}, nil
}

// report records the end of a revocation.
func (r *Reconciler) report(s *scope) {
	if !s.complete && certificates.RevocationIsComplete(s.crr) {
		r.Recorder.Eventf(s.crr, nil, corev1.EventTypeNormal, "CertificatesRevoked", "RevokeCertificates",
			"no API server accepts certificates that %s has signed before", names.CustomerBreakGlassSigner)
	}
}
