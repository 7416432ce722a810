package awsprivatelink

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// run plays the manager for a time: an object is reconciled when others have
// changed it, and when the last reconcile requeued it.
func (e *customerNetwork) run(d time.Duration) {
	e.T.Helper()
	end := e.Clock.Now().Add(d)
	due, seen := map[string]time.Time{}, map[string]*hyperv1.AWSEndpointService{}
	predicate := othersChanges()
	for !e.Clock.Now().After(end) {
		quiet := true
		hcps := &hyperv1.HostedControlPlaneList{}
		e.Must(e.Admin().List(e.T.Context(), hcps))
		for i := range hcps.Items {
			if _, err := e.observer.ReconcileObject(e.T.Context(), &hcps.Items[i]); err != nil {
				e.T.Fatal(err)
			}
		}
		e.Must(e.runHypershiftOperator(e.T.Context()))
		for _, es := range e.list(e.T.Context()) {
			before := seen[es.Name]
			if before == nil || predicate.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: es}) {
				due[es.Name] = e.Clock.Now()
			}
			seen[es.Name] = es.DeepCopy()
			if at, waiting := due[es.Name]; !waiting || at.After(e.Clock.Now()) {
				continue
			}
			quiet = false
			result, err := e.reconciler.ReconcileObject(e.T.Context(), es)
			if err != nil {
				e.T.Fatal(err)
			}
			delete(due, es.Name)
			if result.RequeueAfter > 0 {
				due[es.Name] = e.Clock.Now().Add(result.RequeueAfter)
			}
		}
		e.Must(e.CollectGarbage(e.T.Context()))
		e.Clock.Step(50 * time.Millisecond)
		if quiet {
			e.Clock.Step(e.untilDue(due, end))
		}
	}
}

// untilDue is the time until the next reconcile is due.
func (e *customerNetwork) untilDue(due map[string]time.Time, end time.Time) time.Duration {
	next := end
	for _, at := range due {
		if at.Before(next) {
			next = at
		}
	}
	return max(next.Sub(e.Clock.Now()), 0)
}

// calls counts the calls of the control-plane-operator since the last time.
func (e *customerNetwork) calls() (total int, what string) {
	counted := map[string]int{}
	for _, c := range e.AWS.Calls() {
		if c.Account != provider && c.Role != "admin" {
			counted[c.Action()]++
			total++
		}
	}
	e.AWS.ForgetCalls()
	return total, fmt.Sprint(counted)
}

func (e *customerNetwork) within(what string, limit int) {
	e.T.Helper()
	total, counted := e.calls()
	e.T.Logf("%s: %d calls, budget %d: %s", what, total, limit, counted)
	if total > limit {
		e.T.Errorf("%s took %d calls, more than %d: %s", what, total, limit, counted)
	}
}

// The budget is for both operators; the other one needs four calls for a
// new service, and four in an hour at rest if it has no other cluster.
func TestCallBudget(t *testing.T) {
	const provider, hypershiftOperatorAtRest = 4, 4
	e := newCustomerNetwork(t)
	e.AWS.SetDelays(fakeaws.Delays{EndpointPending: 700 * time.Millisecond, EndpointDeleting: 500 * time.Millisecond})
	e.start()
	e.calls()

	e.run(10 * time.Second)
	e.isReady()
	e.within("a fresh process connects its first service", 15-provider)

	e.addService(names.KubeAPIServerPrivate)
	hcp := testenv.HostedControlPlane()
	e.Change(hcp, func() { hcp.Spec.Services = nil })
	e.run(10 * time.Second)
	e.isReady()
	e.within("and, warm, its second", 12-provider)

	e.run(2 * time.Hour) // until everything has its rhythm
	e.calls()
	const day = 24
	e.run(day * time.Hour)
	for _, c := range e.AWS.Calls() {
		if c.IsWrite() {
			t.Errorf("a write at rest: %s", c.Action())
		}
	}
	e.within("a day at rest", day*(12-hypershiftOperatorAtRest))

	e.subnets = append(e.subnets[:2:2], e.addSubnet(e.vpc, e.mine.ZoneID("us-east-1c")))
	e.zones = append(e.zones, e.mine.ZoneID("us-east-1c"))
	e.run(time.Second)
	// Comparisons at rest come after random delays. The next one is half an hour away when one has just been made.
	for e.calls(); len(e.AWS.Calls()) == 0; {
		e.run(time.Minute)
	}
	e.run(time.Minute)
	e.calls()
	for _, es := range e.list(t.Context()) {
		e.Change(es, func() { es.Spec.SubnetIDs = e.subnets[:1] })
	}
	e.run(10 * time.Second)
	e.isReady()
	e.within("another set of subnets for two services", 6)
}

func TestDeletionBudget(t *testing.T) {
	e := newCustomerNetwork(t)
	e.AWS.SetDelays(fakeaws.Delays{EndpointDeleting: 500 * time.Millisecond})
	e.start()
	e.run(5 * time.Second)
	e.isReady()
	e.calls()

	e.Must(e.delete(t.Context()))
	e.run(time.Second)
	if left := e.list(t.Context()); len(left) > 0 {
		t.Errorf("not gone after a second: %+v", left[0].Status.Conditions)
	}
	e.within("deleting one", 9)
}

func TestDeletionBudgetOfTwoSlowOnes(t *testing.T) {
	e := newCustomerNetwork(t)
	e.addService(names.KubeAPIServerPrivate)
	hcp := testenv.HostedControlPlane()
	e.Change(hcp, func() { hcp.Spec.Services = nil })
	e.AWS.SetDelays(fakeaws.Delays{EndpointDeleting: time.Minute})
	e.start()
	e.run(5 * time.Second)
	e.isReady()
	e.calls()

	e.Must(e.delete(t.Context()))
	e.run(63 * time.Second)
	if left := e.list(t.Context()); len(left) > 0 {
		t.Errorf("not gone after 63 seconds: %+v", left[0].Status.Conditions)
	}
	const provider = 8
	e.within("deleting two that take AWS a minute", 30-provider)
}

func (e *customerNetwork) isReady() {
	e.T.Helper()
	if missing := e.ready(e.T.Context()); missing != "" {
		e.T.Fatal(missing)
	}
}

// The objects of a cluster that wait for AWS share their lists, even if
// one has begun to wait later.
func TestObjectsThatWaitShareLists(t *testing.T) {
	e := newCustomerNetwork(t)
	e.addService(names.KubeAPIServerPrivate)
	hcp := testenv.HostedControlPlane()
	e.Change(hcp, func() { hcp.Spec.Services = nil })
	e.AWS.SetDelays(fakeaws.Delays{EndpointDeleting: 2 * time.Minute})
	e.start()
	e.run(5 * time.Second)
	e.isReady()
	all := e.list(t.Context())
	e.Must(e.Admin().Delete(t.Context(), &corev1.Service{ObjectMeta: all[0].ObjectMeta}))
	e.run(11 * time.Second)
	e.Must(e.Admin().Delete(t.Context(), &corev1.Service{ObjectMeta: all[1].ObjectMeta}))
	e.run(20 * time.Second)
	e.calls()
	e.run(80 * time.Second)
	e.within("80 seconds of two that wait", 18)
}

// A deletion does not wait for resources that were never created, or that were found: neither when the last step was a wait, nor when AWS
// had created a resource.
func TestDeletionWithoutCreationDoesNotWait(t *testing.T) {
	for name, before := range map[string]func(*customerNetwork){
		"at once": func(e *customerNetwork) { e.run(0) },
		"no key to sign with": func(e *customerNetwork) {
			e.Must(e.Admin().Delete(e.T.Context(), testenv.SigningKeySecret()))
			e.run(10 * time.Second)
			e.Create(testenv.SigningKeySecret())
		},
		"no NodePool":          func(e *customerNetwork) { e.subnets = nil; e.run(10 * time.Second) },
		"the endpoint pending": func(e *customerNetwork) { e.run(10 * time.Second) },
		"connected":            func(e *customerNetwork) { e.run(2 * time.Minute) },
		"the operator died before it could write down what it has made": func(e *customerNetwork) {
			e.run(10 * time.Second)
			for _, es := range e.list(e.T.Context()) {
				e.Change(es, func() {
					es.Status.EndpointID, es.Status.SecurityGroupID = "", ""
					es.Status.Creating = []hyperv1.AWSEndpointResource{hyperv1.SecurityGroupResource, hyperv1.VPCEndpointResource}
				})
			}
			e.start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newCustomerNetwork(t)
			e.AWS.SetDelays(fakeaws.Delays{EndpointPending: time.Minute, EndpointDeleting: 500 * time.Millisecond})
			empty := e.AWS.Snapshot()
			e.start()
			before(e)
			e.Must(e.delete(t.Context()))
			e.run(2 * time.Second)
			if left := e.list(t.Context()); len(left) > 0 {
				t.Errorf("not gone: %+v", left[0].Status)
			}
			if now := e.AWS.Snapshot(); now != empty {
				t.Errorf("not deleted:\n%s", now)
			}
		})
	}
}

// The outcome of a creation is unknown: AWS may take the consistency window to list it.
func TestDeletionAwaitsConsistency(t *testing.T) {
	e := newCustomerNetwork(t)
	e.AWS.Fault(fakeaws.Fault{Operation: "CreateVpcEndpoint", Kind: fakeaws.Denied, Times: fakeaws.Forever})
	e.start()
	e.runPasses(enough)
	e.Must(e.delete(t.Context()))
	e.start()
	e.run(awsx.ConsistencyWindow - 5*time.Second)
	if len(e.list(t.Context())) == 0 {
		t.Error("gone before AWS would have listed the endpoint")
	}
	e.run(10 * time.Second)
	if left := e.list(t.Context()); len(left) > 0 {
		t.Errorf("not gone: %+v", left[0].Status)
	}
}
