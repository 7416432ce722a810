// Package kmshealth says whether the key of AWS KMS with which a hosted cluster
// encrypts its Secrets can be used, in the condition ValidAWSKMSConfig.
//
//	secretEncryption of type kms ──► a token in the plugin's name ──► encrypt, decrypt ──► judge
//
//	True     the role has used the key
//	False    AWS does not know the key, or refuses the role: in AWS's words
//	Unknown  there was no answer; a True condition stays
//	absent   no such key is asked for
package kmshealth

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/tokensigner"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/kmskey"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Owner is the field owner of the probe's part of the status.
const Owner = "control-plane-operator-keyprobe"

// Options are what a Reconciler needs.
type Options struct {
	Client client.Client
	// Reader reads past the cache.
	Reader client.Reader
	Clock  clock.PassiveClock
	// Keys are the keys of a control plane, as its plugin calls them.
	Keys func(ctx context.Context, hcp *hyperv1.HostedControlPlane) (kmskey.API, error)
	// KeyReady returns identity.ErrNoKey as long as there is no key to sign tokens with.
	KeyReady func(context.Context) error
}

// Pace of the probe. Every use of a key is paid for, and the API server notices
// itself when one is taken away.
const (
	interval   = 10 * time.Minute
	retryAfter = 30 * time.Second
	jitter     = 0.2
)

// Reconciler judges the key of a control plane.
type Reconciler struct {
	Options
	steps []reconcile.Step[*hyperv1.HostedControlPlane]
}

// New returns a Reconciler.
func New(opts Options) *Reconciler {
	r := &Reconciler{Options: opts}
	r.steps = []reconcile.Step[*hyperv1.HostedControlPlane]{
		{Name: "key", Condition: hyperv1.ValidAWSKMSConfig, Run: r.checkKey},
	}
	return r
}

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	return ctrl.NewControllerManagedBy(mgr).Named("keyprobe").
		For(&hyperv1.HostedControlPlane{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](time.Second, time.Minute)}).
		Complete(reconcile.AsReconciler(opts.Client, New(opts)))
}

// Reconcile judges the key of one control plane.
func (r *Reconciler) Reconcile(ctx context.Context, hcp *hyperv1.HostedControlPlane) (ctrl.Result, error) {
	if hcp.Unreadable() != "" || !hcp.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	status := reconcile.NewWriter(r.Client, r.Reader, hcp, Owner, ourStatus)
	if Of(hcp) == nil {
		reconcile.RemoveConditions(&hcp.Status.Conditions, hyperv1.ValidAWSKMSConfig)
		return reconcile.Report{}.Result(status.Write(ctx))
	}
	report := reconcile.Run(ctx, hcp, r.steps...)
	hcp.Status.Conditions = reconcile.FromReport(report, judge, hcp.Status.Conditions, hcp.Generation, r.Clock.Now())
	if err := status.Write(ctx); err != nil {
		return reconcile.Report{}.Result(err)
	}
	if report[0].Err != nil {
		// An answer that we do not like is no failure of the probe.
		return ctrl.Result{RequeueAfter: wait.Jitter(retryAfter, jitter)}, nil
	}
	return ctrl.Result{RequeueAfter: wait.Jitter(interval, jitter)}, nil
}

// Of is the key that a control plane uses, or nil.
func Of(hcp *hyperv1.HostedControlPlane) *hyperv1.AWSKMSSpec {
	enc := hcp.Spec.SecretEncryption
	if enc == nil || enc.Type != hyperv1.KMS || enc.KMS == nil {
		return nil
	}
	return enc.KMS.AWS
}

func (r *Reconciler) checkKey(ctx context.Context, hcp *hyperv1.HostedControlPlane) error {
	if err := r.KeyReady(ctx); err != nil {
		return err
	}
	keys, err := r.Keys(ctx, hcp)
	if err != nil {
		return err
	}
	return kmskey.Check(ctx, keys, Of(hcp).ActiveKey.ARN)
}

var judge = reconcile.Classifier{
	Transient: func(err error) bool {
		// Only an answer of AWS makes the condition False.
		return awsx.IsTransient(err) || awsx.Kind(err) == awsx.NotAWS
	},
	Reason: func(err error) string {
		switch {
		case errors.Is(err, tokensigner.ErrNoKey):
			return hyperv1.WaitingForSigningKeyReason
		case awsx.IsIdentity(err):
			return hyperv1.InvalidIAMRoleReason
		}
		return awsx.Reason(err)
	},
	Message: awsx.Message,
}

func ourStatus(hcp *hyperv1.HostedControlPlane) any {
	part := map[string]any{}
	if c := meta.FindStatusCondition(hcp.Status.Conditions, hyperv1.ValidAWSKMSConfig); c != nil {
		part["conditions"] = []metav1.Condition{*c}
	}
	return part
}
