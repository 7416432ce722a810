package components

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/kubeapiserver"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/secretencryption"
)

// awaitCache is how soon a cache has what is in the API server.
const awaitCache = 200 * time.Millisecond

// awaitEncryption waits until it is recorded which keys encrypt Secrets, and until
// the cache has it. A configuration that follows from an older record could take
// the key back that API servers write with.
func (r *Reconciler) awaitEncryption(ctx context.Context, s *scope) error {
	if s.hcp.Spec.SecretEncryption == nil || s.paused {
		return nil
	}
	recorded := s.hcp.Status.SecretEncryption
	if recorded == nil {
		if s.secrets[kubeapiserver.EncryptionSecret] != nil || s.hcp.Status.Initialized {
			return nil // what runs goes on without it; kube-apiserver reports why it is not changed
		}
		return reconcile.Wait(0, hyperv1.WaitingForReason, "waiting until it is recorded which key encrypts Secrets; EtcdDataEncryptionUpToDate has the reason")
	}
	present, err := kubeapiserver.ConfiguredKeys(s.secrets[kubeapiserver.EncryptionSecret])
	_, backup, _ := kubeapiserver.SpecKeys(s.hcp, s.secrets) // one that cannot be used changes nothing
	if err != nil || present != nil && present.Equal(secretencryption.Desired(recorded, backup, present.Keys)) {
		return nil // nothing is about to change, or kube-apiserver reports why it cannot
	}
	now := &hyperv1.HostedControlPlane{}
	if err := r.Reader.Get(ctx, client.ObjectKeyFromObject(s.hcp), now); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading which keys encrypt Secrets: %w", err)
	}
	if !equality.Semantic.DeepEqual(now.Status.SecretEncryption, recorded) {
		return reconcile.Wait(awaitCache, hyperv1.WaitingForReason, "waiting until the cache has which keys encrypt Secrets")
	}
	return nil
}
