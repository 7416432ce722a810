package aws

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

const (
	// firstComparison is the delay between the first two comparisons of a service with AWS. The delay doubles: nodes can be
	// lost for another reason, and calls of AWS are limited.
	firstComparison = time.Minute
	// comparisonInterval is between the comparisons of different services. A failure of the management cluster can cut off the
	// nodes of all clusters at once, and a comparison takes two calls.
	comparisonInterval = 500 * time.Millisecond
	// maxCompared is the number of services for which the next comparison is known.
	maxCompared = 10000
)

// comparisons decides when the services of clusters that seem cut off are compared with AWS, past the cache. The
// control-plane-operator reports the reason, and a tenant chooses that program. So a report that comes and goes does not lead to
// more calls than a lasting report.
type comparisons struct {
	clock clock.PassiveClock
	// limit is the longest delay.
	limit time.Duration

	mu   sync.Mutex
	free time.Time  // when the next service can be compared
	next *lru.Cache // comparison, by UID of the AWSEndpointService
}

type comparison struct {
	at       time.Time
	delay    time.Duration // to the one after it
	reserved bool          // no other service is compared at that time
}

func newComparisons(clk clock.PassiveClock, limit time.Duration) *comparisons {
	return &comparisons{clock: clk, limit: limit, next: lru.New(maxCompared)}
}

// due reports whether the service has to be compared now, and otherwise after which time.
func (c *comparisons) due(uid types.UID) (bool, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	var planned comparison
	if cached, ok := c.next.Get(uid); ok {
		planned = cached.(comparison) //nolint:forcetypeassert // the cache holds only comparisons
	}
	if planned.at.IsZero() || now.Sub(planned.at) > c.limit { // the first comparison, or the first after an earlier failure
		planned = comparison{at: now, delay: min(firstComparison, c.limit)}
	}
	if !planned.at.After(now) && !planned.reserved {
		planned.at, planned.reserved = now, true
		if c.free.After(now) {
			planned.at = c.free
		}
		c.free = planned.at.Add(comparisonInterval)
	}
	if planned.at.After(now) {
		c.next.Add(uid, planned)
		return false, planned.at.Sub(now)
	}
	c.next.Add(uid, comparison{at: now.Add(planned.delay), delay: min(2*planned.delay, c.limit)})
	return true, planned.delay
}

// disconnected returns whether the control-plane-operator reports that the way through the endpoint is cut off: no node responds,
// or AWS does not let the endpoint connect.
func disconnected(es *hyperv1.AWSEndpointService, hcp *hyperv1.HostedControlPlane) bool {
	return nodesLost(hcp) || endpointRefused(es)
}

func nodesLost(hcp *hyperv1.HostedControlPlane) bool {
	return hcp != nil && meta.IsStatusConditionFalse(hcp.Status.Conditions, hyperv1.DataPlaneConnectionAvailable)
}

// refusals are the reasons for which an endpoint is missing that the endpoint service can cause.
var refusals = []string{hyperv1.EndpointPendingAcceptanceReason, hyperv1.EndpointReplacedReason, string(awsx.Invalid), string(awsx.NotFound)}

func endpointRefused(es *hyperv1.AWSEndpointService) bool {
	c := meta.FindStatusCondition(es.Status.Conditions, hyperv1.AWSEndpointAvailable)
	return c != nil && c.Status != metav1.ConditionTrue && slices.Contains(refusals, c.Reason)
}

// connectionLost lets through the change with which the nodes stop to respond.
var connectionLost = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	was, wasOne := e.ObjectOld.(*hyperv1.HostedControlPlane)
	is, isOne := e.ObjectNew.(*hyperv1.HostedControlPlane)
	return wasOne && isOne && nodesLost(is) && !nodesLost(was)
}}
