package hostedcluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/conditions"
	"github.com/hosted-control-planes/hypershift/internal/patch"
)

// defaultGiveUpAfter is time for somebody to repair an OIDC provider or a trust
// policy that was deleted too early.
const defaultGiveUpAfter = 10 * time.Minute

// giveUp takes the control-plane-operator's finalizer from an AWSEndpointService
// when AWS has refused the cluster's identity, not just failed to answer, for so
// long that nobody seems to repair it. What that leaves in the customer's
// account is named, by id.
func (r *Reconciler) giveUp(ctx context.Context, s *scope, es *hyperv1.AWSEndpointService) error {
	if es.DeletionTimestamp.IsZero() || !slices.Contains(es.Finalizers, hyperv1.ControlPlaneOperatorFinalizer) || !r.identityLost(s) {
		return nil
	}
	left := leftovers(es)
	s.gaveUp = append(s.gaveUp, left)
	ctrl.LoggerFrom(ctx).Info("Giving up on what only the cluster's own identity could delete", "awsEndpointService", es.Name, "left", left)
	r.Recorder.Eventf(s.hc, es, corev1.EventTypeWarning, "CloudResourcesLeftBehind", "GiveUp",
		"AWS does not accept the cluster's identity (%s); left behind in the account of the cluster: %s", conditions.Get(s.hc.Status.Conditions, hyperv1.ValidAWSIdentityProvider).Message, left)
	if err := patch.RemoveFinalizer(ctx, r.Client, es, hyperv1.ControlPlaneOperatorFinalizer); err != nil {
		return fmt.Errorf("giving up on AWSEndpointService %s: %w", es.Name, err)
	}
	return nil
}

// identityLost is true when the answer of AWS has been "no" for the whole
// period, and the deletion is that old too. Unknown is not "no".
func (r *Reconciler) identityLost(s *scope) bool {
	c := conditions.Get(s.hc.Status.Conditions, hyperv1.ValidAWSIdentityProvider)
	if s.hcp != nil {
		c = conditions.Get(s.hcp.Status.Conditions, hyperv1.ValidAWSIdentityProvider)
	}
	if c == nil || c.Status != "False" {
		return false
	}
	since := c.LastTransitionTime.Time
	if s.hc.DeletionTimestamp.After(since) {
		since = s.hc.DeletionTimestamp.Time
	}
	return r.Clock.Now().Sub(since) >= duration(s.hc, hyperv1.GiveUpAfterAnnotation, defaultGiveUpAfter)
}

// leftovers names what the customer's half of an AWSEndpointService consists of.
func leftovers(es *hyperv1.AWSEndpointService) string {
	var parts []string
	add := func(what, id string) {
		if id != "" {
			parts = append(parts, what+" "+id)
		}
	}
	add("VPC endpoint", es.Status.EndpointID)
	add("security group", es.Status.SecurityGroupID)
	add("records", strings.Join(es.Status.DNSNames, ", "))
	if len(es.Status.DNSNames) > 0 {
		add("of hosted zone", es.Status.DNSZoneID)
	}
	if len(parts) == 0 {
		return "nothing that " + es.Name + " had recorded"
	}
	return strings.Join(parts, ", ")
}
