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

// awaitCache is the interval for reading the cache again.
const awaitCache = 200 * time.Millisecond

// awaitEncryption waits until the status contains the keys that encrypt Secrets, and until the cache has this status. A
// configuration from an older status could remove the key that API servers write with.
func (r *Reconciler) awaitEncryption(ctx context.Context, s *scope) error {
	if s.hcp.Spec.SecretEncryption == nil || s.paused {
		return nil
	}
	recorded := s.hcp.Status.SecretEncryptionRecord
	if recorded == nil {
		if s.secrets[kubeapiserver.EncryptionSecret] != nil || s.hcp.Status.Initialized {
			return nil // the running API servers continue without it; component kube-apiserver reports the error
		}
		return reconcile.Wait(0, hyperv1.WaitingForReason, "waiting for the encryption key in the status; see EtcdDataEncryptionUpToDate for the reason")
	}
	present, err := kubeapiserver.ConfiguredKeys(s.secrets[kubeapiserver.EncryptionSecret])
	_, backup, _ := kubeapiserver.SpecKeys(s.hcp, s.secrets) // an invalid backup key is ignored
	if err != nil || present != nil && present.Equal(secretencryption.Desired(recorded, backup, present.Keys)) {
		return nil // the keys stay, or component kube-apiserver reports the error
	}
	now := &hyperv1.HostedControlPlane{}
	if err := r.Reader.Get(ctx, client.ObjectKeyFromObject(s.hcp), now); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the recorded encryption keys: %w", err)
	}
	if !equality.Semantic.DeepEqual(now.Status.SecretEncryptionRecord, recorded) {
		return reconcile.Wait(awaitCache, hyperv1.WaitingForReason, "waiting until the cache has the recorded encryption keys")
	}
	return nil
}
