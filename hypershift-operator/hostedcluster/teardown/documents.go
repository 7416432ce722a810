package teardown

import (
	"context"
	"fmt"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/oidc"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// removeDocuments runs after everything that needs an AWS identity is gone.
func (m *Manager) removeDocuments(ctx context.Context, c *Cluster) error {
	hc := c.HostedCluster
	issuer := oidc.IssuerOf(hc)
	if hc.IsHandedOver() { // AWS needs them for the identities of the cluster
		m.Documents.Forget(hc.UID)
		hc.Status.OIDCDocuments = nil
		return nil
	}
	if m.Documents.IsElsewhere(issuer) {
		m.Documents.Forget(hc.UID)
		return m.orphanDocuments(ctx, c, issuer)
	}
	endWait(&hc.Status, hyperv1.WaitForOIDCBucket)
	if err := m.Documents.Remove(ctx, issuer); err != nil {
		return err
	}
	if m.Documents.Location() != nil && hc.Spec.InfraID != "" {
		hc.Status.OIDCDocuments = nil
	}
	return nil
}

// orphanDocuments waits for an operator with the bucket, for a limited time.
func (m *Manager) orphanDocuments(ctx context.Context, c *Cluster, issuer oidc.Issuer) error {
	st, now := &c.HostedCluster.Status, m.Clock.Now()
	if c.isOverdue(waitingSince(st, hyperv1.WaitForOIDCBucket, now), now) {
		err := m.recordLeft(ctx, c, nil, "the hypershift-operator was started without the bucket", hyperv1.LeftBehindResource{
			Service: serviceS3, Type: "OIDC documents", ID: issuer.String(), Reason: hyperv1.OIDCStorageMissingReason,
		})
		if err != nil {
			return err
		}
		st.OIDCDocuments = nil
		return nil
	}
	message := fmt.Sprintf("the OIDC documents %s cannot be removed: start the hypershift-operator with this bucket; after %s they are left behind", issuer, c.orphanAfter())
	return reconcile.Unverified(hyperv1.OIDCStorageMissingReason, "%s", message).About(hyperv1.ValidOIDCConfiguration).
		With(reconcile.Wait(deletionInterval, hyperv1.CloudResourcesRemainingReason, "%s", message))
}
