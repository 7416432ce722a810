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
	"github.com/hosted-control-planes/hypershift/internal/certsecret"
	"github.com/hosted-control-planes/hypershift/internal/kubeconfig"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/secretencryption"
)

// A rewriting is one run with a write key and one revision of the API servers. It counts only if the API servers stay
// the same during the whole run.
type rewriting struct {
	reencryption.Run
	key      secretencryption.Key
	servers  types.UID
	revision int64
	// tried is the end of a run in which some objects were rejected.
	tried time.Time
}

// reencrypt rewrites Secrets for some seconds during its stage. A restarted process begins again, but skips objects that
// have the key already.
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
		return nil // some objects were rejected, and the retry is not due
	}
	c, err := r.enter(ctx, s)
	if err != nil {
		return err
	}
	if err := r.continueRun(ctx, s.rewriting, c); err != nil {
		return err
	}
	if !s.rewriting.Complete {
		return nil
	}
	s.rewriting.tried = r.Clock.Now()
	return r.confirm(ctx, s)
}

// rewriting returns the run in progress, or a new one.
func (r *Reconciler) rewriting(s *scope, key secretencryption.Key) *rewriting {
	run := r.rewritings[s.hcp.UID]
	if run == nil || !secretencryption.Same(run.key, key) || run.servers != s.servers || run.revision != s.revision ||
		run.Complete && r.Clock.Since(run.tried) >= retryAfter {
		run = &rewriting{key: key, servers: s.servers, revision: s.revision}
		r.rewritings[s.hcp.UID] = run
	}
	return run
}

// continueRun continues the run for one time slice.
func (r *Reconciler) continueRun(ctx context.Context, run *rewriting, c client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, slice)
	defer cancel()
	err := run.Continue(ctx, c, corev1.SchemeGroupVersion.WithKind("Secret"))
	if apierrors.IsForbidden(err) {
		return reconcile.Wait(interval, hyperv1.WaitingForPermissionsReason, "waiting for the permission to rewrite Secrets in the hosted cluster")
	}
	return err
}

// confirm checks that the API servers are still the ones with which the run began. An API server with another
// configuration might have used another key.
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

// enter returns a client of the hosted cluster.
func (r *Reconciler) enter(ctx context.Context, s *scope) (client.Client, error) {
	if !meta.IsStatusConditionTrue(s.hcp.Status.Conditions, hyperv1.KubeAPIServerAvailable) {
		return nil, reconcile.Wait(interval, hyperv1.WaitingForKubeAPIServerReason, "waiting for the hosted API server; see KubeAPIServerAvailable for the reason")
	}
	secret := &corev1.Secret{}
	if err := certsecret.Get(ctx, r.Client, client.ObjectKey{Namespace: s.hcp.Namespace, Name: names.ControlPlaneOperatorKubeconfig}, secret); err != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", names.ControlPlaneOperatorKubeconfig, err)
	}
	config, err := kubeconfig.Config(secret.Data[names.AdminKubeconfigFile])
	if err != nil {
		return nil, fmt.Errorf("Secret %s %w", names.ControlPlaneOperatorKubeconfig, err)
	}
	config.Timeout = deadline
	config.QPS = -1 // the run limits its own rate
	c, err := r.Open(config)
	if err != nil {
		return nil, errors.New("the certificates or keys in Secret " + names.ControlPlaneOperatorKubeconfig + " cannot be used")
	}
	return c, nil
}
