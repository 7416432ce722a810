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
func (w *testEnv) run(d time.Duration) {
	w.T.Helper()
	end := w.Clock.Now().Add(d)
	due, seen := map[string]time.Time{}, map[string]*hyperv1.AWSEndpointService{}
	predicate := othersChanges()
	for !w.Clock.Now().After(end) {
		quiet := true
		hcps := &hyperv1.HostedControlPlaneList{}
		w.Must(w.Admin().List(w.T.Context(), hcps))
		for i := range hcps.Items {
			if _, err := w.observer.ReconcileObject(w.T.Context(), &hcps.Items[i]); err != nil {
				w.T.Fatal(err)
			}
		}
		w.Must(w.runHypershiftOperator(w.T.Context()))
		for _, es := range w.list(w.T.Context()) {
			before := seen[es.Name]
			if before == nil || predicate.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: es}) {
				due[es.Name] = w.Clock.Now()
			}
			seen[es.Name] = es.DeepCopy()
			if at, waiting := due[es.Name]; !waiting || at.After(w.Clock.Now()) {
				continue
			}
			quiet = false
			result, err := w.reconciler.ReconcileObject(w.T.Context(), es)
			if err != nil {
				w.T.Fatal(err)
			}
			delete(due, es.Name)
			if result.RequeueAfter > 0 {
				due[es.Name] = w.Clock.Now().Add(result.RequeueAfter)
			}
		}
		w.Must(w.CollectGarbage(w.T.Context()))
		w.Clock.Step(50 * time.Millisecond)
		if quiet {
			w.Clock.Step(w.untilDue(due, end))
		}
	}
}

// untilDue is the time until the next reconcile is due.
func (w *testEnv) untilDue(due map[string]time.Time, end time.Time) time.Duration {
	next := end
	for _, at := range due {
		if at.Before(next) {
			next = at
		}
	}
	return max(next.Sub(w.Clock.Now()), 0)
}

// calls counts the calls of the control-plane-operator since the last time.
func (w *testEnv) calls() (total int, what string) {
	counted := map[string]int{}
	for _, c := range w.AWS.Calls() {
		if c.Account != provider && c.Role != "admin" {
			counted[c.Action()]++
			total++
		}
	}
	w.AWS.ForgetCalls()
	return total, fmt.Sprint(counted)
}

func (w *testEnv) within(what string, limit int) {
	w.T.Helper()
	total, counted := w.calls()
	w.T.Logf("%s: %d calls, budget %d: %s", what, total, limit, counted)
	if total > limit {
		w.T.Errorf("%s took %d calls, more than %d: %s", what, total, limit, counted)
	}
}

// The budget is for both operators; the other one needs four calls for a
// new service, and four in an hour at rest if it has no other cluster.
func TestCallBudget(t *testing.T) {
	const provider, hypershiftOperatorAtRest = 4, 4
	w := newTestEnv(t)
	w.AWS.SetDelays(fakeaws.Delays{EndpointPending: 700 * time.Millisecond, EndpointDeleting: 500 * time.Millisecond})
	w.start()
	w.calls()

	w.run(10 * time.Second)
	w.isReady()
	w.within("a fresh process connects its first service", 15-provider)

	w.addService(names.KubeAPIServerPrivate)
	hcp := w.hcp()
	w.change(hcp, func() { hcp.Spec.Services = nil })
	w.run(10 * time.Second)
	w.isReady()
	w.within("and, warm, its second", 12-provider)

	w.run(2 * time.Hour) // until everything has its rhythm
	w.calls()
	const day = 24
	w.run(day * time.Hour)
	for _, c := range w.AWS.Calls() {
		if c.IsWrite() {
			t.Errorf("a write at rest: %s", c.Action())
		}
	}
	w.within("a day at rest", day*(12-hypershiftOperatorAtRest))

	w.subnets = append(w.subnets[:2:2], w.addSubnet(w.vpc, w.mine.ZoneID("us-east-1c")))
	w.zones = append(w.zones, w.mine.ZoneID("us-east-1c"))
	w.run(time.Second)
	// Comparisons at rest come after random delays. The next one is half an hour away when one has just been made.
	for w.calls(); len(w.AWS.Calls()) == 0; {
		w.run(time.Minute)
	}
	w.run(time.Minute)
	w.calls()
	for _, es := range w.list(t.Context()) {
		w.change(es, func() { es.Spec.SubnetIDs = w.subnets[:1] })
	}
	w.run(10 * time.Second)
	w.isReady()
	w.within("another set of subnets for two services", 6)
}

func TestDeletionBudget(t *testing.T) {
	w := newTestEnv(t)
	w.AWS.SetDelays(fakeaws.Delays{EndpointDeleting: 500 * time.Millisecond})
	w.start()
	w.run(5 * time.Second)
	w.isReady()
	w.calls()

	w.Must(w.delete(t.Context()))
	w.run(time.Second)
	if left := w.list(t.Context()); len(left) > 0 {
		t.Errorf("not gone after a second: %+v", left[0].Status.Conditions)
	}
	w.within("deleting one", 9)
}

func TestDeletionBudgetOfTwoSlowOnes(t *testing.T) {
	w := newTestEnv(t)
	w.addService(names.KubeAPIServerPrivate)
	hcp := w.hcp()
	w.change(hcp, func() { hcp.Spec.Services = nil })
	w.AWS.SetDelays(fakeaws.Delays{EndpointDeleting: time.Minute})
	w.start()
	w.run(5 * time.Second)
	w.isReady()
	w.calls()

	w.Must(w.delete(t.Context()))
	w.run(63 * time.Second)
	if left := w.list(t.Context()); len(left) > 0 {
		t.Errorf("not gone after 63 seconds: %+v", left[0].Status.Conditions)
	}
	const provider = 8
	w.within("deleting two that take AWS a minute", 30-provider)
}

func (w *testEnv) isReady() {
	w.T.Helper()
	if missing := w.ready(w.T.Context()); missing != "" {
		w.T.Fatal(missing)
	}
}

// The objects of a cluster that wait for AWS share their lists, even if
// one has begun to wait later.
func TestObjectsThatWaitShareLists(t *testing.T) {
	w := newTestEnv(t)
	w.addService(names.KubeAPIServerPrivate)
	hcp := w.hcp()
	w.change(hcp, func() { hcp.Spec.Services = nil })
	w.AWS.SetDelays(fakeaws.Delays{EndpointDeleting: 2 * time.Minute})
	w.start()
	w.run(5 * time.Second)
	w.isReady()
	all := w.list(t.Context())
	w.Must(w.Admin().Delete(t.Context(), &corev1.Service{ObjectMeta: all[0].ObjectMeta}))
	w.run(11 * time.Second)
	w.Must(w.Admin().Delete(t.Context(), &corev1.Service{ObjectMeta: all[1].ObjectMeta}))
	w.run(20 * time.Second)
	w.calls()
	w.run(80 * time.Second)
	w.within("80 seconds of two that wait", 18)
}

// A deletion does not wait for resources that were never created, or that were found: neither when the last step was a wait, nor when AWS
// had created a resource.
func TestDeletionWithoutCreationDoesNotWait(t *testing.T) {
	for name, before := range map[string]func(*testEnv){
		"at once": func(w *testEnv) { w.run(0) },
		"no key to sign with": func(w *testEnv) {
			w.Must(w.Admin().Delete(w.T.Context(), testenv.SigningKeySecret()))
			w.run(10 * time.Second)
			w.create(testenv.SigningKeySecret())
		},
		"no NodePool":          func(w *testEnv) { w.subnets = nil; w.run(10 * time.Second) },
		"the endpoint pending": func(w *testEnv) { w.run(10 * time.Second) },
		"connected":            func(w *testEnv) { w.run(2 * time.Minute) },
		"the operator died before it could write down what it has made": func(w *testEnv) {
			w.run(10 * time.Second)
			for _, es := range w.list(w.T.Context()) {
				w.change(es, func() {
					es.Status.EndpointID, es.Status.SecurityGroupID = "", ""
					es.Status.Creating = []hyperv1.AWSEndpointResource{hyperv1.SecurityGroupResource, hyperv1.VPCEndpointResource}
				})
			}
			w.start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestEnv(t)
			w.AWS.SetDelays(fakeaws.Delays{EndpointPending: time.Minute, EndpointDeleting: 500 * time.Millisecond})
			empty := w.AWS.Snapshot()
			w.start()
			before(w)
			w.Must(w.delete(t.Context()))
			w.run(2 * time.Second)
			if left := w.list(t.Context()); len(left) > 0 {
				t.Errorf("not gone: %+v", left[0].Status)
			}
			if now := w.AWS.Snapshot(); now != empty {
				t.Errorf("not deleted:\n%s", now)
			}
		})
	}
}

// The outcome of a creation is unknown: AWS may take the consistency window to list it.
func TestDeletionAwaitsConsistency(t *testing.T) {
	w := newTestEnv(t)
	w.AWS.Fault(fakeaws.Fault{Operation: "CreateVpcEndpoint", Kind: fakeaws.Denied, Times: fakeaws.Forever})
	w.start()
	w.runPasses(enough)
	w.Must(w.delete(t.Context()))
	w.start()
	w.run(awsx.ConsistencyWindow - 5*time.Second)
	if len(w.list(t.Context())) == 0 {
		t.Error("gone before AWS would have listed the endpoint")
	}
	w.run(10 * time.Second)
	if left := w.list(t.Context()); len(left) > 0 {
		t.Errorf("not gone: %+v", left[0].Status)
	}
}
