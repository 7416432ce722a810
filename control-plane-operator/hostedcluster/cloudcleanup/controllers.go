package cloudcleanup

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// leaseOfLoadBalancers is the Lease of the AWS Load Balancer Controller.
const leaseOfLoadBalancers = "aws-load-balancer-controller-leader"

// The sidecars of a CSI driver make the name of their Lease from the name of the driver.
func leaseOfVolumes(driver string) string { return leaseName(driver) }

func leaseOfSnapshots(driver string) string {
	return leaseName("external-snapshotter-leader-" + driver)
}

var notInLeaseNames = regexp.MustCompile("[^a-zA-Z0-9-]")

func leaseName(text string) string { return notInLeaseNames.ReplaceAllString(text, "-") }

// controllerGone is how long a node is not ready, or a Lease is not renewed, until the controller there counts as gone.
const controllerGone = time.Minute

// controllers answers whether controllers run in the hosted cluster.
type controllers struct {
	client client.Client
	now    time.Time
	nodes  []corev1.Node
	known  map[string]bool
}

func findControllers(ctx context.Context, hosted client.Client, now time.Time) (*controllers, error) {
	list := &corev1.NodeList{}
	if err := hosted.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	return &controllers{client: hosted, now: now, nodes: list.Items, known: map[string]bool{}}, nil
}

// canRun is true if a node is ready, or was ready a moment ago.
func (c *controllers) canRun() bool {
	return slices.ContainsFunc(c.nodes, func(n corev1.Node) bool {
		return slices.ContainsFunc(n.Status.Conditions, func(condition corev1.NodeCondition) bool {
			return condition.Type == corev1.NodeReady && (condition.Status == corev1.ConditionTrue || c.now.Sub(condition.LastTransitionTime.Time) < controllerGone)
		})
	})
}

// runs reports whether the controller with the Lease runs, on a node or next to the control plane. A controller on nodes without
// a Lease may run: not all elect a leader.
func (c *controllers) runs(ctx context.Context, lease string) (bool, error) {
	if runs, cached := c.known[lease]; cached {
		return runs, nil
	}
	leases := &coordinationv1.LeaseList{}
	if err := c.client.List(ctx, leases, client.MatchingFields{"metadata.name": lease}); err != nil {
		return false, fmt.Errorf("listing Leases %s: %w", lease, err)
	}
	c.known[lease] = len(leases.Items) == 0 && c.canRun() || slices.ContainsFunc(leases.Items, func(l coordinationv1.Lease) bool {
		return l.Spec.RenewTime != nil && c.now.Sub(l.Spec.RenewTime.Time) < controllerGone
	})
	return c.known[lease], nil
}
