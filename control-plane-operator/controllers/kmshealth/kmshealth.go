// Package kmshealth checks whether the AWS KMS key that encrypts the Secrets of a
// hosted cluster can be used, and reports that in the condition ValidAWSKMSConfig.
//
//	secretEncryption of type KMS ─► a token with the subject of the KMS plugin ─► encrypt, decrypt
//
//	True     the role has used the key
//	False    AWS does not know the key, or refuses the role; the message is the answer of AWS
//	Unknown  there was no answer; a True condition stays
//	absent   the cluster uses no such key
package kmshealth

import (
	"context"
	"errors"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/kmskey"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/tokensigner"
)

// Options configure a Reconciler.
type Options struct {
	Client client.Client
	// Status writes the status of the HostedControlPlane.
	Status *controlplanestatus.Store
	Clock  clock.PassiveClock
	// Keys returns a client of KMS with the role of the control plane's KMS plugin.
	Keys func(ctx context.Context, hcp *hyperv1.HostedControlPlane) (kmskey.API, error)
	// KeyReady returns tokensigner.ErrNoKey as long as there is no key to sign tokens with.
	KeyReady func(context.Context) error
}

const (
	// interval is how often the key is used. Each use costs money, and the API server
	// itself notices when the key cannot be used any more.
	interval = 10 * time.Minute
	// retryAfter is how soon the check is repeated after a failure.
	retryAfter = 30 * time.Second
)

// Reconciler checks the key of a control plane.
type Reconciler struct {
	Options
	// last are the last results, by control plane. A status that could not be written, or
	// another change of the spec, is no reason to use the key again. One reconcile runs at a time.
	last map[client.ObjectKey]result
}

// result is the result of one use of a key.
type result struct {
	// uid and key are the inputs of the result.
	uid types.UID
	key hyperv1.AWSKMSSpec
	at  time.Time
	err error
}

// Controller reconciles HostedControlPlanes.
type Controller = reconcile.Controller[*hyperv1.HostedControlPlane, *hyperv1.HostedControlPlane]

// New returns the controller.
func New(opts Options) *Controller { return newReconciler(opts).controller() }

func newReconciler(opts Options) *Reconciler {
	return &Reconciler{Options: opts, last: map[client.ObjectKey]result{}}
}

func (r *Reconciler) controller() *Controller {
	steps := []reconcile.Step[*hyperv1.HostedControlPlane]{{Name: "KMS key", Condition: hyperv1.ValidAWSKMSConfig, Run: r.checkKey}}
	return &Controller{
		Name: "kmshealth", Client: r.Client, Clock: r.Clock,
		Gone: r.forget,
		Scope: func(_ context.Context, hcp *hyperv1.HostedControlPlane, _ *reconcile.Writer[*hyperv1.HostedControlPlane]) (*hyperv1.HostedControlPlane, error) {
			if hcp.Unreadable() != "" || !hcp.DeletionTimestamp.IsZero() {
				return nil, reconcile.Skip(0)
			}
			return hcp, nil
		},
		Phase: func(hcp *hyperv1.HostedControlPlane) []reconcile.Step[*hyperv1.HostedControlPlane] {
			if Of(hcp) == nil {
				return nil
			}
			return steps
		},
		Store: r.Status, Conditions: []string{hyperv1.ValidAWSKMSConfig},
		Status: func(hcp *hyperv1.HostedControlPlane, _ reconcile.Report, conditions *reconcile.Conditions) {
			if Of(hcp) == nil {
				conditions.Remove(hyperv1.ValidAWSKMSConfig)
			}
		},
		Resync: func(hcp *hyperv1.HostedControlPlane) time.Duration {
			if Of(hcp) == nil {
				return 0
			}
			return interval
		},
	}
}

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	c := New(opts)
	return c.Builder(mgr).For(&hyperv1.HostedControlPlane{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).Complete(c)
}

// forget drops the knowledge of a deleted control plane.
func (r *Reconciler) forget(_ context.Context, key client.ObjectKey) error {
	delete(r.last, key)
	return nil
}

// Of returns the key that a control plane uses, or nil.
func Of(hcp *hyperv1.HostedControlPlane) *hyperv1.AWSKMSSpec {
	enc := hcp.Spec.SecretEncryption
	if enc == nil || enc.Type != hyperv1.KMS || enc.KMS == nil {
		return nil
	}
	return enc.KMS.AWS
}

func (r *Reconciler) checkKey(ctx context.Context, hcp *hyperv1.HostedControlPlane) error {
	if err := r.KeyReady(ctx); err != nil {
		return finding(err)
	}
	keys, err := r.Keys(ctx, hcp)
	if err != nil {
		return finding(err)
	}
	name := client.ObjectKeyFromObject(hcp)
	last, exists := r.last[name]
	if !exists || last.uid != hcp.UID || !reflect.DeepEqual(last.key, *Of(hcp)) || r.Clock.Since(last.at) >= last.lasts() {
		last = result{uid: hcp.UID, key: *Of(hcp).DeepCopy(), at: r.Clock.Now(), err: kmskey.Check(ctx, keys, Of(hcp).ActiveKey.ARN)}
		r.last[name] = last
	}
	return finding(last.err)
}

// lasts is no longer than the time until the next reconcile of an unchanged object.
func (l result) lasts() time.Duration {
	if l.err != nil {
		return retryAfter
	}
	return interval
}

// finding turns an error into an outcome. That the key cannot be used is a result of
// the check, not a failure of the controller. Only an answer of AWS makes the condition False.
func finding(err error) error {
	requeueAfter := reconcile.Jitter(retryAfter)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, tokensigner.ErrNoKey):
		return reconcile.Unknown(requeueAfter, hyperv1.WaitingForSigningKeyReason, "%s", awsx.Message(err))
	case awsx.IsTransient(err), awsx.Kind(err) == awsx.NotAWS, reconcile.IsTransientAPIError(err):
		return reconcile.Unknown(requeueAfter, awsx.Reason(err), "%s", awsx.Message(err))
	case awsx.IsIdentity(err):
		return reconcile.Wait(requeueAfter, hyperv1.InvalidIAMRoleReason, "%s", awsx.Message(err))
	}
	return reconcile.Wait(requeueAfter, awsx.Reason(err), "%s", awsx.Message(err))
}
