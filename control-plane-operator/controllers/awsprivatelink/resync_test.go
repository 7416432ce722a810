package awsprivatelink

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/event"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// connected is a control plane with nodes that respond, or have not responded since then.
func connected(status metav1.ConditionStatus, since time.Time) *hyperv1.HostedControlPlane {
	return &hyperv1.HostedControlPlane{Status: hyperv1.HostedControlPlaneStatus{Conditions: []metav1.Condition{
		{Type: hyperv1.DataPlaneConnectionAvailable, Status: status, LastTransitionTime: metav1.NewTime(since)},
	}}}
}

func TestResyncIsSoonerWhileNodesAreLost(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	r := &Reconciler{Options: Options{Clock: clocktesting.NewFakePassiveClock(now), ResyncPeriod: 30 * time.Minute}}
	for name, c := range map[string]struct {
		hcp  *hyperv1.HostedControlPlane
		want time.Duration
	}{
		"no control plane":          {nil, 30 * time.Minute},
		"nodes respond":             {connected(metav1.ConditionTrue, now.Add(-time.Hour)), 30 * time.Minute},
		"there are no nodes":        {connected(metav1.ConditionUnknown, now), 30 * time.Minute},
		"nodes have just been lost": {connected(metav1.ConditionFalse, now), time.Minute},
		"lost for five minutes":     {connected(metav1.ConditionFalse, now.Add(-5*time.Minute)), 5 * time.Minute},
		"lost for a day":            {connected(metav1.ConditionFalse, now.Add(-24*time.Hour)), 30 * time.Minute},
	} {
		if got := r.resyncPeriod(c.hcp); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestLostNodesWakeTheController(t *testing.T) {
	now := time.Now()
	good, lost := connected(metav1.ConditionTrue, now), connected(metav1.ConditionFalse, now)
	for name, c := range map[string]struct {
		before, after *hyperv1.HostedControlPlane
		want          bool
	}{
		"lost": {good, lost, true}, "restored": {lost, good, false}, "still lost": {lost, lost.DeepCopy(), false}, "still good": {good, good.DeepCopy(), false},
	} {
		if got := connectionLost().Update(event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A manual change that cuts off the nodes is repaired at once, not at the next resync.
func TestDriftIsRepairedWhenNodesAreLost(t *testing.T) {
	e := newCustomerNetwork(t)
	e.start()
	e.runPasses(enough)
	es := e.list(t.Context())[0]
	e.try(e.customerEC2().DeleteVpcEndpoints(t.Context(), &ec2.DeleteVpcEndpointsInput{VpcEndpointIds: []string{es.Status.EndpointID}}))
	e.Clock.Step(2 * lostResync)
	e.runPasses(enough)
	if again := e.list(t.Context())[0].Status.EndpointID; again != es.Status.EndpointID {
		t.Fatal("it is repaired before the nodes are lost: the test proves nothing")
	}
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Status.Conditions = connected(metav1.ConditionFalse, e.Clock.Now()).Status.Conditions
		hcp.Status.Conditions[0].Reason = hyperv1.NodesUnreachableReason
	})
	e.runPasses(enough)
	if again := e.list(t.Context())[0].Status.EndpointID; again == "" || again == es.Status.EndpointID {
		t.Errorf("the endpoint is %q", again)
	}
}
