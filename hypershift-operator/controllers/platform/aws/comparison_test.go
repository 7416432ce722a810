package aws

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

// report lets the control-plane-operator report the connection to the nodes.
func (e *privateLink) report(status metav1.ConditionStatus) {
	e.T.Helper()
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		reconcile.SetCondition(&hcp.Status.Conditions, metav1.Condition{Type: hyperv1.DataPlaneConnectionAvailable, Status: status}, e.Clock.Now())
	})
}

// reportEndpoint lets it report the endpoint.
func (e *privateLink) reportEndpoint(reason string) {
	e.T.Helper()
	es := e.service()
	reconcile.SetCondition(&es.Status.Conditions, metav1.Condition{Type: hyperv1.AWSEndpointAvailable, Status: metav1.ConditionFalse, Reason: reason}, e.Clock.Now())
	e.UpdateStatus(es)
}

// removePrincipals removes all principals that may connect. The returned function reads the service's principals.
func (e *privateLink) removePrincipals() func() []string {
	e.T.Helper()
	api := awsx.EC2(e.mine.Config(region, "administrator"))
	all, err := api.DescribeVpcEndpointServiceConfigurations(e.T.Context(), &ec2.DescribeVpcEndpointServiceConfigurationsInput{})
	if err != nil || len(all.ServiceConfigurations) != 1 {
		e.T.Fatalf("services: %v, %v", all, err)
	}
	id := all.ServiceConfigurations[0].ServiceId
	allowed := func() (arns []string) {
		out, err := api.DescribeVpcEndpointServicePermissions(e.T.Context(), &ec2.DescribeVpcEndpointServicePermissionsInput{ServiceId: id})
		e.Must(err)
		for _, p := range out.AllowedPrincipals {
			arns = append(arns, aws.ToString(p.Principal))
		}
		return arns
	}
	if _, err := api.ModifyVpcEndpointServicePermissions(e.T.Context(), &ec2.ModifyVpcEndpointServicePermissionsInput{ServiceId: id, RemoveAllowedPrincipals: allowed()}); err != nil {
		e.T.Fatal(err)
	}
	return allowed
}

// step reconciles the object once, and returns the calls and the time until the next reconcile.
func (e *privateLink) step(r *Reconciler) (map[string]int, time.Duration) {
	e.T.Helper()
	e.AWS.ForgetCalls()
	result, err := r.controller().Reconcile(e.T.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "clusters-demo", Name: "private-router"}})
	e.Must(err)
	return fakeaws.Count(e.AWS.Calls()), result.RequeueAfter
}

var comparisonCalls = map[string]int{"ec2:DescribeVpcEndpointServiceConfigurations": 1, "ec2:DescribeVpcEndpointServicePermissions": 1}

// A manual change that cuts off the nodes is repaired when they are lost, not hours later.
func TestPrincipalsAreRepairedAtOnceWhenTheEndpointIsCutOff(t *testing.T) {
	for name, cutOff := range map[string]func(*testing.T, *privateLink){
		"no node responds":               func(t *testing.T, e *privateLink) { e.report(metav1.ConditionFalse) },
		"the endpoint is rejected":       func(t *testing.T, e *privateLink) { e.reportEndpoint(hyperv1.EndpointReplacedReason) },
		"the endpoint is not accepted":   func(t *testing.T, e *privateLink) { e.reportEndpoint(hyperv1.EndpointPendingAcceptanceReason) },
		"AWS does not find the service":  func(t *testing.T, e *privateLink) { e.reportEndpoint(string(awsx.NotFound)) },
		"AWS refuses the service's name": func(t *testing.T, e *privateLink) { e.reportEndpoint(string(awsx.Invalid)) },
	} {
		t.Run(name, func(t *testing.T) {
			e := newPrivateLink(t)
			r := e.reconciler()
			e.Use(e.passOf(r))
			e.Run(10)
			if missing := e.ready(t.Context()); missing != "" {
				t.Fatal(missing)
			}
			principals := e.removePrincipals()
			if calls, _ := e.step(r); len(calls) > 0 {
				t.Fatalf("a connection that works takes %v", calls)
			}
			cutOff(t, e)
			want := map[string]int{"ec2:ModifyVpcEndpointServicePermissions": 1}
			for call, n := range comparisonCalls {
				want[call] = n
			}
			calls, next := e.step(r)
			if diff := cmp.Diff(want, calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			e.Clock.Step(20 * time.Second) // AWS lists a new principal later
			if got := principals(); !slices.Equal(got, []string{withoutPath(cpoRole)}) {
				t.Errorf("allowed are %v", got)
			}
			if !e.Events.Contains("AllowedPrincipalsAdded") {
				t.Error("no event AllowedPrincipalsAdded")
			}
			if next != firstComparison {
				t.Errorf("the next comparison is after %s", next)
			}
		})
	}
}

// Nodes can be lost for another reason: the calls become rare.
func TestComparisonsBecomeRareWhileNodesAreLost(t *testing.T) {
	e := newPrivateLink(t)
	r := e.reconciler()
	e.Use(e.passOf(r))
	e.Run(10)
	e.report(metav1.ConditionFalse)
	began, compared := e.Clock.Now(), []time.Duration{}
	for e.Clock.Since(began) < 3*time.Hour {
		calls, next := e.step(r)
		if calls["ec2:DescribeVpcEndpointServicePermissions"] > 0 {
			compared = append(compared, e.Clock.Since(began))
		}
		if again, _ := e.step(r); len(again) > 0 {
			t.Fatalf("after %s a second reconcile calls %v", e.Clock.Since(began), again)
		}
		e.Clock.Step(next)
	}
	want := []time.Duration{0, 1, 3, 7, 15, 31, 61, 91, 121, 151}
	for i := range want {
		want[i] *= time.Minute
	}
	if diff := cmp.Diff(want, compared); diff != "" {
		t.Errorf("compared (-want +got):\n%s", diff)
	}
}

// A tenant chooses the program that reports the connection. A report that changes all the time costs no more calls.
func TestReportsThatComeAndGoAreComparedNoMoreOften(t *testing.T) {
	e := newPrivateLink(t)
	r := e.reconciler()
	e.Use(e.passOf(r))
	e.Run(10)
	compared := 0
	for range 600 {
		for _, status := range []metav1.ConditionStatus{metav1.ConditionFalse, metav1.ConditionTrue} {
			e.report(status)
			calls, _ := e.step(r)
			compared += calls["ec2:DescribeVpcEndpointServicePermissions"]
		}
		e.Clock.Step(time.Second)
	}
	if compared != 4 { // after 0, 1, 3 and 7 minutes
		t.Errorf("%d comparisons in ten minutes", compared)
	}
}

// A failure of the management cluster cuts off all clusters. AWS throttles by account.
func TestComparisonsOfManyServicesAreSpread(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	began := clock.Now()
	c := newComparisons(clock, resync)
	next := map[types.UID]time.Time{}
	for i := range services {
		next[types.UID(fmt.Sprint(i))] = began
	}
	perMinute := map[int]int{}
	first := 0
	for clock.Since(began) < 20*time.Minute {
		for uid, at := range next {
			if at.After(clock.Now()) {
				continue
			}
			due, after := c.due(uid)
			if due {
				perMinute[int(clock.Since(began).Minutes())]++
			}
			if due && after == firstComparison {
				first++
			}
			next[uid] = clock.Now().Add(after)
		}
		clock.Step(time.Second)
	}
	if first != services {
		t.Errorf("%d of %d services were compared", first, services)
	}
	limit := int(time.Minute/comparisonInterval) + 1
	for minute, n := range perMinute {
		if n > limit {
			t.Errorf("%d comparisons in minute %d, want at most %d", n, minute, limit)
		}
	}
}

func TestCutOffEndpointsWakeTheController(t *testing.T) {
	hcp := func(status metav1.ConditionStatus) *hyperv1.HostedControlPlane {
		return &hyperv1.HostedControlPlane{Status: hyperv1.HostedControlPlaneStatus{Conditions: []metav1.Condition{{Type: hyperv1.DataPlaneConnectionAvailable, Status: status}}}}
	}
	for name, c := range map[string]struct {
		was, is metav1.ConditionStatus
		want    bool
	}{
		"lost": {metav1.ConditionTrue, metav1.ConditionFalse, true}, "restored": {metav1.ConditionFalse, metav1.ConditionTrue, false},
		"still lost": {metav1.ConditionFalse, metav1.ConditionFalse, false}, "no nodes": {metav1.ConditionTrue, metav1.ConditionUnknown, false},
	} {
		if got := connectionLost.Update(event.UpdateEvent{ObjectOld: hcp(c.was), ObjectNew: hcp(c.is)}); got != c.want {
			t.Errorf("nodes %s: %v", name, got)
		}
	}
	es := func(reason string) *hyperv1.AWSEndpointService {
		es := endpointService()
		if reason != "" {
			es.Status.Conditions = []metav1.Condition{{Type: hyperv1.AWSEndpointAvailable, Status: metav1.ConditionFalse, Reason: reason}}
		}
		return es
	}
	r := newPrivateLink(t).reconciler()
	for name, c := range map[string]struct {
		was, is string
		want    bool
	}{
		"rejected": {"", hyperv1.EndpointReplacedReason, true}, "pending": {"", hyperv1.EndpointPendingReason, false}, "still rejected": {hyperv1.EndpointReplacedReason, hyperv1.EndpointReplacedReason, false},
	} {
		if got := r.endpointServiceChanged().Update(event.UpdateEvent{ObjectOld: es(c.was), ObjectNew: es(c.is)}); got != c.want {
			t.Errorf("endpoint %s: %v", name, got)
		}
	}
}
