package encryption

import (
	"context"
	"reflect"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/kubeapiserver"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/neighbours"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/secretencryption"
)

// Options configure a Reconciler.
type Options struct {
	Client client.Client
	// Status writes the status of the HostedControlPlane.
	Status *controlplanestatus.Store
	// Reader reads past the cache: a stage must not follow from old facts.
	Reader client.Reader
	Clock  clock.PassiveClock
	// Open makes a client of the hosted cluster; nil for the usual one.
	Open func(*rest.Config) (client.Client, error)
}

const (
	// interval is how often the API servers are compared with the stage while one is
	// in progress. Their pods are not watched.
	interval = 10 * time.Second
	// retryAfter is how soon objects that could not be rewritten are tried again.
	retryAfter = time.Minute
	// slice is how long one reconcile rewrites objects: the user may want another key
	// in the meantime.
	slice = 20 * time.Second
	// deadline is how long the steps of a reconcile may take.
	deadline = time.Minute
)

// Reconciler changes the keys of a control plane.
type Reconciler struct {
	Options
	// rewritings are the re-encryptions in progress. One reconcile runs at a time.
	rewritings map[types.UID]*rewriting
}

// Controller reconciles HostedControlPlanes.
type Controller = reconcile.Controller[*hyperv1.HostedControlPlane, *scope]

// New returns the controller.
func New(opts Options) *Controller {
	r := &Reconciler{Options: opts, rewritings: map[types.UID]*rewriting{}}
	if r.Open == nil {
		r.Open = func(config *rest.Config) (client.Client, error) { return client.New(config, client.Options{}) }
	}
	steps := []reconcile.Step[*scope]{
		{Name: "facts", Run: r.gather},
		{Name: "re-encryption", Run: r.reencrypt},
		{Name: "plan", Run: r.plan},
	}
	return &Controller{
		Name: "encryption", Client: opts.Client, Clock: opts.Clock,
		Scope: r.scope,
		Phase: func(s *scope) []reconcile.Step[*scope] {
			if s.hcp.Spec.SecretEncryption == nil {
				return nil
			}
			return steps
		},
		Store: opts.Status, Conditions: []string{hyperv1.EtcdDataEncryptionUpToDate},
		Fields: func(hcp *hyperv1.HostedControlPlane) any {
			return statusPart{SecretEncryption: secretencryption.Status(hcp.Status.SecretEncryptionRecord), SecretEncryptionRecord: hcp.Status.SecretEncryptionRecord}
		},
		Spacing: reconcile.DefaultSpacing,
		Status:  summarize,
		Resync: func(s *scope) time.Duration {
			if s.hcp.Spec.SecretEncryption == nil || !s.moving() {
				return 0
			}
			return interval
		},
		Timeout: deadline,
	}
}

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	c := New(opts)
	all := neighbours.Handler(opts.Client)
	return c.Builder(mgr).
		For(&hyperv1.HostedControlPlane{}, builder.WithPredicates(changed)).
		Watches(&corev1.Secret{}, all, builder.WithPredicates(predicate.NewPredicateFuncs(func(s client.Object) bool {
			return s.GetName() == kubeapiserver.EncryptionSecret || s.GetAnnotations()[hyperv1.CopiedFromAnnotation] != ""
		}))).
		Watches(&appsv1.Deployment{}, all, builder.WithPredicates(predicate.NewPredicateFuncs(func(d client.Object) bool {
			return d.GetName() == names.KubeAPIServer
		}))).
		Complete(c)
}

// changed passes changes that a reconcile depends on.
var changed = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	relevant := func(obj client.Object) any {
		hcp := obj.(*hyperv1.HostedControlPlane)
		return []any{
			hcp.Generation, hcp.Annotations, hcp.DeletionTimestamp.IsZero(), hcp.Status.SecretEncryptionRecord,
			meta.IsStatusConditionTrue(hcp.Status.Conditions, hyperv1.KubeAPIServerAvailable),
		}
	}
	return !reflect.DeepEqual(relevant(e.ObjectOld), relevant(e.ObjectNew))
}}

// scope holds the facts of one reconcile. The last word of a comment is the step that sets it.
type scope struct {
	hcp *hyperv1.HostedControlPlane
	// secrets are the namespace's Secrets, and facts follow from them and from the
	// API servers. behind counts API server pods without the configuration, and fault is the error that
	// the user has to repair. gather
	secrets map[string]*corev1.Secret
	facts   secretencryption.Facts
	servers types.UID
	// revision is the generation of the API servers' Deployment.
	revision int64
	behind   int
	fault    error
	// rewriting is the progress of the re-encryption. reencrypt
	rewriting *rewriting
	paused    bool
}

func (s *scope) status() *hyperv1.SecretEncryptionRecord { return s.hcp.Status.SecretEncryptionRecord }

// moving is true while a stage is in progress.
func (s *scope) moving() bool {
	st := s.status()
	move := secretencryption.Current(st)
	return st == nil || st.TargetKey != nil || move == nil || move.Stage != hyperv1.SecretEncryptionDone || secretencryption.Overtaken(st, s.facts)
}

// scope skips a control plane that is about to be deleted.
func (r *Reconciler) scope(_ context.Context, hcp *hyperv1.HostedControlPlane, _ *reconcile.Writer[*hyperv1.HostedControlPlane]) (*scope, error) {
	if hcp.Unreadable() != "" || !hcp.DeletionTimestamp.IsZero() || hcp.Annotations[hyperv1.HostedClusterDeletedAnnotation] == "true" {
		delete(r.rewritings, hcp.UID)
		return nil, reconcile.Skip(0)
	}
	s := &scope{hcp: hcp}
	s.paused, _ = hcp.Spec.PausedUntil.Paused(r.Clock.Now())
	s.paused = s.paused || hcp.Sleeps() // no API server has a configuration
	return s, nil
}

// plan records the next stage. A pause stops changes; which keys are in use is
// recorded nevertheless.
func (r *Reconciler) plan(_ context.Context, s *scope) error {
	if s.paused && s.status() != nil {
		return nil
	}
	before := s.status()
	s.hcp.Status.SecretEncryptionRecord = secretencryption.Next(before, s.facts)
	if before != nil && !reflect.DeepEqual(before, s.hcp.Status.SecretEncryptionRecord) {
		s.facts.RolledOut = false // with the configuration that is applied below
	}
	return nil
}

// statusPart holds the status fields that this controller writes.
type statusPart struct {
	SecretEncryption       *hyperv1.SecretEncryptionStatus `json:"secretEncryption,omitempty"`
	SecretEncryptionRecord *hyperv1.SecretEncryptionRecord `json:"secretEncryptionRecord,omitempty"`
}
