package encryption

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/reencryption"
	"github.com/hosted-control-planes/hypershift/internal/kubeconfig"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/secretencryption"
)

// A rewriting is one run with the key that API servers of one revision write
// with. It counts only if they were the same from its beginning to its end.
type rewriting struct {
	reencryption.Run
	key      secretencryption.Key
	servers  types.UID
	revision int64
	// tried is when a run ended that some objects refused.
	tried time.Time
}

// reencrypt rewrites Secrets for some seconds, in the stage for it. A process
// that is started anew begins again: what has the key already is not written.
func (r *Reconciler) reencrypt(ctx context.Context, s *scope) error {
	move := secretencryption.Current(s.status())
	if move == nil || move.Stage != hyperv1.SecretEncryptionReencrypt || secretencryption.Overtaken(s.status(), s.facts) {
		delete(r.rewritings, s.hcp.UID)
		return nil
	}
	if s.paused || !s.facts.InUse(s.status()) {
		return nil
	}
	s.rewriting = r.rewriting(s, move.To)
	if s.rewriting.Complete {
		return nil // and refused: it is not yet time to try again
	}
	c, err := r.enter(ctx, s)
	if err != nil {
		return err
	}
	if err := r.spend(ctx, s.rewriting, c); err != nil {
		return err
	}
	if !s.rewriting.Complete {
		return nil
	}
	s.rewriting.tried = r.Clock.Now()
	return r.confirm(ctx, s)
}

// rewriting is the run that is under way, or a new one.
func (r *Reconciler) rewriting(s *scope, key secretencryption.Key) *rewriting {
	run := r.rewritings[s.hcp.UID]
	if run == nil || !secretencryption.Same(run.key, key) || run.servers != s.servers || run.revision != s.revision ||
		run.Complete && r.Clock.Since(run.tried) >= retryAfter {
		run = &rewriting{key: key, servers: s.servers, revision: s.revision}
		r.rewritings[s.hcp.UID] = run
	}
	return run
}

// spend rewrites as much as a pass may take.
func (r *Reconciler) spend(ctx context.Context, run *rewriting, c client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, slice)
	defer cancel()
	err := run.Continue(ctx, c, corev1.SchemeGroupVersion.WithKind("Secret"))
	if apierrors.IsForbidden(err) {
		return reconcile.Wait(interval, hyperv1.WaitingForPermissionsReason, "waiting for the permission to rewrite Secrets in the hosted cluster")
	}
	return err
}

// confirm looks again whether all API servers are those with which the run began:
// one with another configuration might have encrypted something with another key.
func (r *Reconciler) confirm(ctx context.Context, s *scope) error {
	if err := r.gatherServers(ctx, s); err != nil {
		return err
	}
	run := s.rewriting
	if s.servers != run.servers || s.revision != run.revision || !s.facts.InUse(s.status()) {
		delete(r.rewritings, s.hcp.UID)
		return nil
	}
	s.facts.Rewritten = run.Rewritten()
	return nil
}

// enter finds the way into the hosted cluster.
func (r *Reconciler) enter(ctx context.Context, s *scope) (client.Client, error) {
	if !meta.IsStatusConditionTrue(s.hcp.Status.Conditions, hyperv1.KubeAPIServerAvailable) {
		return nil, reconcile.Wait(interval, hyperv1.WaitingForKubeAPIServerReason, "waiting until the hosted API server serves; KubeAPIServerAvailable has the reason")
	}
	secret := &corev1.Secret{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.hcp.Namespace, Name: names.ControlPlaneOperatorKubeconfig}, secret); err != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", names.ControlPlaneOperatorKubeconfig, err)
	}
	config, err := kubeconfig.Config(secret.Data[names.AdminKubeconfigFile])
	if err != nil {
		return nil, fmt.Errorf("Secret %s %w", names.ControlPlaneOperatorKubeconfig, err)
	}
	config.Timeout = deadline
	config.QPS = -1 // the run has its own pace
	c, err := r.Open(config)
	if err != nil {
		return nil, errors.New("the certificates or keys in Secret " + names.ControlPlaneOperatorKubeconfig + " cannot be used")
	}
	return c, nil
}
