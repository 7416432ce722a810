package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/awsidentity"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/awsprivatelink"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/workersecuritygroup"
	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/index"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/lab/bench/report"
)

const (
	// settling is the time after which a cluster counts as idle.
	settling = time.Hour
	// day is the observation time of an idle private cluster.
	day = 24 * time.Hour
	// cycle is the observation time of the operator with many services: it checks the permissions of each service once in
	// this time.
	cycle = 15 * time.Hour
	// servicesAtRest is the number of services of the operator.
	servicesAtRest = 1000
)

// quiet are the calls of an idle operator.
type quiet struct {
	Calls     map[string]int
	Writes    int // in AWS and in Kubernetes
	WorstHour int
	// WorstSecond and WorstMinute are the highest numbers of calls in one.
	WorstSecond, WorstMinute int
	// Seconds is the number of seconds with at least one call.
	Seconds int
}

func (q quiet) total() int {
	n := 0
	for _, k := range q.Calls {
		n += k
	}
	return n
}

func atRest(ctx context.Context, _ string) ([]report.Row, error) {
	var one, many quiet
	if err := errors.Join(do(ctx, "cluster-at-rest", nil, &one), do(ctx, "operator-at-rest", nil, &many)); err != nil {
		return nil, err
	}
	return atRestRows([]quiet{one}, []quiet{many}), nil
}

func atRestRows(ones, manys []quiet) []report.Row {
	one, many := last(ones), last(manys)
	hours, cycleHours := day.Hours(), cycle.Hours()
	return []report.Row{
		{What: "AWS calls per hour at rest, private cluster with 2 services", Figures: []report.Figure{
			report.Within("calls per hour", 12, "", values(ones, func(q quiet) float64 { return float64(q.total()) / hours })...).Counted().With(openshift("192, all at once")).WithDetail("%s", perHour(one.Calls, hours)),
			report.Info("in the worst hour", "", values(ones, func(q quiet) float64 { return float64(q.WorstHour) })...),
			report.Within("writes", 0, "", values(ones, func(q quiet) float64 { return float64(q.Writes) })...).Counted().With(openshift("24 of Route 53")),
			report.Info("in the worst second", "", values(ones, func(q quiet) float64 { return float64(q.WorstSecond) })...).WithDetail("the calls of a day are in %d different seconds", one.Seconds),
		}, Note: fmt.Sprintf("%.0f virtual hours, both operators, the hypershift-operator with this cluster alone; the credentials of the CPO included", hours)},
		{What: "hypershift-operator alone at 1,000 services", Figures: []report.Figure{
			report.Within("AWS calls per service and hour", 0.1, "", values(manys, func(q quiet) float64 { return float64(q.total()) / cycleHours / servicesAtRest })...).Counted().With(openshiftStub("24")).WithDetail("%s", perHour(many.Calls, cycleHours)),
			report.Within("peak, calls in the worst second", 5, "", values(manys, func(q quiet) float64 { return float64(q.WorstSecond) })...).With(openshiftStub("43")),
			report.Info("calls in the worst minute", "", values(manys, func(q quiet) float64 { return float64(q.WorstMinute) })...),
			report.Within("writes", 0, "", values(manys, func(q quiet) float64 { return float64(q.Writes) })...).Counted(),
		}, Note: fmt.Sprintf("%.0f virtual hours, in which the permissions of each service are checked once", cycleHours)},
	}
}

func perHour(calls map[string]int, hours float64) string {
	text := ""
	for _, action := range slices.Sorted(maps.Keys(calls)) {
		text += fmt.Sprintf(", %s %s", report.Number(math.Round(100*float64(calls[action])/hours)/100), action)
	}
	return "per hour: " + text[min(2, len(text)):]
}

// observe runs the queue until the operators are idle, and then counts the calls.
func (q *queue) observe(ctx context.Context, cluster *crashtest.Cluster, aws *cloud, span time.Duration) (quiet, error) {
	var seen quiet
	if err := q.run(ctx, settling); err != nil {
		return seen, err
	}
	aws.ForgetCalls()
	before := cluster.Calls.Writes()
	began := time.Now()
	if err := q.run(ctx, span); err != nil {
		return seen, err
	}
	seen = summarize(aws.calls(), began)
	seen.Writes += cluster.Calls.Writes() - before
	return seen, nil
}

// summarize counts calls since then. Its writes are those in AWS.
func summarize(calls []fakeaws.Call, began time.Time) quiet {
	seen := quiet{Calls: fakeaws.Count(calls)}
	for _, c := range calls {
		if c.IsWrite() {
			seen.Writes++
		}
	}
	seconds := per(calls, began, time.Second)
	seen.Seconds, seen.WorstSecond = len(seconds), most(seconds)
	seen.WorstMinute, seen.WorstHour = most(per(calls, began, time.Minute)), most(per(calls, began, time.Hour))
	return seen
}

// per counts calls per unit of time.
func per(calls []fakeaws.Call, began time.Time, unit time.Duration) map[int]int {
	n := map[int]int{}
	for _, c := range calls {
		n[int(c.At.Sub(began)/unit)]++
	}
	return n
}

func most(n map[int]int) int {
	most := 0
	for _, k := range n {
		most = max(most, k)
	}
	return most
}

// newFakeCluster is an API server without delays and network.
func newFakeCluster() (*crashtest.Cluster, error) {
	converter, err := crdConverter()
	if err != nil {
		return nil, err
	}
	return newFakeClusterOf(converter, 0), nil
}

// crdConverter is the converter of the project's own types. It reads all CRDs.
func crdConverter() (managedfields.TypeConverter, error) {
	root, err := pinned.Root()
	if err != nil {
		return nil, err
	}
	return crashtest.Converter(filepath.Join(root, "config", "crd")), nil
}

func newFakeClusterOf(converter managedfields.TypeConverter, firstUID int) *crashtest.Cluster {
	return crashtest.NewCluster(crashtest.Options{
		Scheme: scheme, FirstUID: firstUID,
		Converters: []managedfields.TypeConverter{converter},
		Kinds:      []client.ObjectList{&hyperv1.AWSEndpointServiceList{}},
		WithStatus: []client.Object{&hyperv1.AWSEndpointService{}, &hyperv1.HostedControlPlane{}, &corev1.Service{}},
		Index: func(b *fake.ClientBuilder) {
			b.WithIndex(&hyperv1.NodePool{}, index.NodePoolCluster, index.ByCluster)
		},
	})
}

// clusterAtRestTask observes one private cluster with both its services.
func clusterAtRestTask(_ context.Context, t *taskRun) error {
	virtual(func(ctx context.Context) error {
		seen, err := clusterAtRest(ctx)
		if err != nil {
			return err
		}
		return t.leave(seen)
	})
	return nil
}

func clusterAtRest(ctx context.Context) (quiet, error) {
	private, public, err := webidentity.GenerateKey()
	if err != nil {
		return quiet{}, err
	}
	api, err := newFakeCluster()
	if err != nil {
		return quiet{}, err
	}
	aws := newCloud()
	aws.SetDelays(fakeaws.UsualDelays)
	p := privateCluster{name: "demo", private: private, public: public}
	q, err := p.reconcile(ctx, api, aws)
	if err != nil {
		return quiet{}, err
	}
	seen, err := q.observe(ctx, api, aws, day)
	if err != nil {
		return seen, err
	}
	return seen, p.available(ctx, api.Admin())
}

// privateCluster is a private cluster with both its services.
type privateCluster struct {
	name            string
	private, public []byte // its signing key
	*cluster
}

// reconcile creates the cluster, and returns the queue of both operators' controllers that call AWS for it.
func (p *privateCluster) reconcile(ctx context.Context, api *crashtest.Cluster, aws *cloud) (*queue, error) {
	cl, err := aws.addCustomer(p.name, p.public)
	if err != nil {
		return nil, err
	}
	p.cluster = cl
	objects, err := cl.all(p.private)
	if err != nil {
		return nil, err
	}
	admin := api.Admin()
	for _, name := range offered {
		_, host := aws.addBalancer(cl.balancer(name))
		if err := cl.serve(ctx, admin, name, host); err != nil {
			return nil, err
		}
	}
	if err := create(ctx, admin, objects...); err != nil {
		return nil, err
	}

	q := &queue{written: api.Calls.Writes}
	ho, err := endpointServices(ctx, api.Client(), aws)
	if err != nil {
		return nil, err
	}
	link, identity := controlPlaneOperator(api.Client(), api.Client(), cl, aws)
	link.Recorder = discard{}
	customers, observer, prober := awsprivatelink.New(link), awsprivatelink.NewObserver(link), awsidentity.New(identity)
	ofControlPlane := func(reconcile func(context.Context, *hyperv1.HostedControlPlane) (ctrl.Result, error)) pass {
		return func(ctx context.Context) (ctrl.Result, error) {
			hcp := &hyperv1.HostedControlPlane{}
			if err := admin.Get(ctx, client.ObjectKey{Namespace: cl.namespace(), Name: cl.name}, hcp); err != nil {
				return ctrl.Result{}, err
			}
			return reconcile(ctx, hcp)
		}
	}
	q.add(ofControlPlane(observer.ReconcileObject))
	q.add(ofControlPlane(prober.ReconcileObject))
	q.add(ofControlPlane(workersecuritygroup.New(workersecuritygroup.Options{
		Client: link.Client, Status: identity.Status, Recorder: discard{}, Clock: link.Clock, Sessions: link.Sessions, KeyReady: link.KeyReady, ResyncPeriod: link.ResyncPeriod,
	}).ReconcileObject))
	for _, name := range offered {
		key := client.ObjectKey{Namespace: cl.namespace(), Name: name}
		q.add(func(ctx context.Context) (ctrl.Result, error) {
			return ho.Reconcile(ctx, ctrl.Request{NamespacedName: key})
		})
		q.add(func(ctx context.Context) (ctrl.Result, error) {
			es := &hyperv1.AWSEndpointService{}
			if err := admin.Get(ctx, key, es); err != nil {
				return ctrl.Result{}, client.IgnoreNotFound(err)
			}
			return customers.ReconcileObject(ctx, es)
		})
	}
	return q, nil
}

// available returns an error unless both services are available.
func (p *privateCluster) available(ctx context.Context, admin client.Client) error {
	for _, name := range offered {
		es := &hyperv1.AWSEndpointService{}
		if err := admin.Get(ctx, client.ObjectKey{Namespace: p.namespace(), Name: name}, es); err != nil {
			return err
		}
		if !available(es) {
			return fmt.Errorf("%s of %s is not available: %+v", name, p.name, es.Status.Conditions)
		}
	}
	return nil
}

// operatorAtRestTask observes the hypershift-operator with many services.
func operatorAtRestTask(_ context.Context, t *taskRun) error {
	virtual(func(ctx context.Context) error {
		seen, err := operatorAtRest(ctx)
		if err != nil {
			return err
		}
		return t.leave(seen)
	})
	return nil
}

func operatorAtRest(ctx context.Context) (quiet, error) {
	api, err := newFakeCluster()
	if err != nil {
		return quiet{}, err
	}
	aws, admin := newCloud(), api.Admin()
	var q queue
	ho, err := endpointServices(ctx, api.Client(), aws)
	if err != nil {
		return quiet{}, err
	}
	for i := range servicesAtRest / len(offered) {
		cl := newCluster(fmt.Sprintf("c%03d", i))
		objects, err := cl.all(nil)
		if err != nil {
			return quiet{}, err
		}
		for _, name := range offered {
			es := cl.endpointService(name)
			key := client.ObjectKeyFromObject(es)
			_, host := aws.addBalancer(es.Spec.NetworkLoadBalancerName)
			if err := cl.serve(ctx, admin, name, host); err != nil {
				return quiet{}, err
			}
			objects = append(objects, es)
			q.add(func(ctx context.Context) (ctrl.Result, error) {
				return ho.Reconcile(ctx, ctrl.Request{NamespacedName: key})
			})
		}
		if err := create(ctx, admin, objects...); err != nil {
			return quiet{}, err
		}
	}
	return q.observe(ctx, api, aws, cycle)
}

// discard is an event recorder that drops all events.
type discard struct{}

func (discard) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}
