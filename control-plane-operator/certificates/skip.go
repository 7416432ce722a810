package certificates

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// skipState records that a reconcile changed no object. The next reconcile has the same result until the time is reached or
// an input changes. Checking every certificate takes some milliseconds, and reconciles are frequent.
type skipState struct {
	digest [sha256.Size]byte
	until  time.Time
}

// digestOf hashes all inputs of a reconcile except for the roll-out of a rotation. Reconciles are not skipped during a
// rotation.
func digestOf(hcp *hyperv1.HostedControlPlane, facts Facts, existing found) ([sha256.Size]byte, error) {
	text, err := json.Marshal([]any{hcp.UID, hcp.Annotations, hcp.Spec, facts.API, facts.Konnectivity, facts.KubeadminPassword, facts.MetricsServer, facts.Ingress, facts.ImageRegistry, facts.PodIdentityWebhook, facts.EBSCSIController, facts.CloudController, facts.Scheduler, facts.Revocation, existing.versions})
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("marshalling what certificates depend on: %w", err)
	}
	return sha256.Sum256(text), nil
}

// skippable returns the record of the last reconcile if its inputs are unchanged, and nil otherwise.
func (c *Certificates) skippable(digest [sha256.Size]byte, now time.Time) *skipState {
	if r := c.skip.Load(); r != nil && r.digest == digest && now.Before(r.until) {
		return r
	}
	return nil
}
