package publishing

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
)

// ReadyAnnotation is the time since which an AWSEndpointService can take the place of another one.
const ReadyAnnotation = "hypershift.openshift.io/ready-since"

// Settling is how long the targets of a new load balancer may take to be healthy: three checks, one each half minute.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/target-group-health-checks.html
const Settling = 2 * time.Minute

// unready is how often a router that is not ready is looked at. Annotations are no changes that controllers react to.
const unready = 10 * time.Second

// Router returns the name of the AWSEndpointService to whose router host names lead: that of the shared router or of the control plane. A control
// plane that leaves the shared router keeps it until its own has settled; after is then when to look again.
func Router(ctx context.Context, c client.Reader, hcp *hyperv1.HostedControlPlane, now time.Time) (name string, after time.Duration, err error) {
	if sharedrouter.Serves(hcp) {
		return sharedrouter.EndpointService, 0, nil
	}
	shared, own := &hyperv1.AWSEndpointService{}, &hyperv1.AWSEndpointService{}
	for key, es := range map[string]*hyperv1.AWSEndpointService{sharedrouter.EndpointService: shared, names.PrivateRouter: own} {
		if err := c.Get(ctx, client.ObjectKey{Namespace: hcp.Namespace, Name: key}, es); client.IgnoreNotFound(err) != nil {
			return "", 0, fmt.Errorf("reading AWSEndpointService %s: %w", key, err)
		}
	}
	if shared.UID == "" || !shared.DeletionTimestamp.IsZero() || !hcp.DeletionTimestamp.IsZero() {
		return names.PrivateRouter, 0, nil
	}
	since, err := time.Parse(time.RFC3339, own.Annotations[ReadyAnnotation])
	if err != nil { // it is not ready
		return sharedrouter.EndpointService, unready, nil
	}
	if left := Settling - now.Sub(since); left > 0 {
		return sharedrouter.EndpointService, left, nil
	}
	return names.PrivateRouter, 0, nil
}
