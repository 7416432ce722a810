// Package testenv builds the environments of tests in process: a fake API server, a fake AWS and a fake clock.
//
//	New(t, options...) ─► Env: crashtest.Cluster, fakeaws.Cloud, one clock for all, the events
//	  objects.go          Create, Get, Put, Change, Delete, List: what users and other controllers do
//	  passes.go           Start, Restart, Once, Run, Settle, Later: the controller, and the time between its passes
//	  conditions.go       Condition, ExpectCondition: the status of the object under test
//	  aws.go              the identity with which an operator calls AWS, and its calls
//	  fixtures.go         HostedCluster, HostedControlPlane, Secret, Kubeconfig: valid objects
//
// A test embeds Env in its own type and adds the facts that only its controller needs.
package testenv

import (
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

// Start is the time at which tests start.
var Start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// Controllers of tests log nothing.
func init() { ctrl.SetLogger(logr.Discard()) }

// Env is a management cluster, AWS, and one controller.
type Env struct {
	*crashtest.Cluster
	T      testing.TB
	Scheme *runtime.Scheme
	Clock  *clocktesting.FakeClock
	AWS    *fakeaws.Cloud
	Events *EventLog

	// Object is the object under test.
	Object client.Object
	// Start creates the controller, like a process that starts with empty caches, and returns one pass.
	Start func() Pass
	// Others does the work of other controllers, kubelets and AWS after each pass. It may be nil.
	Others Pass
	// Tick is the time between two passes of Run and Settle.
	Tick time.Duration
	// RequeueAfter is the requeue time of the last reconcile.
	RequeueAfter time.Duration

	pass Pass
}

// An Option changes the environment that New creates.
type Option func(*options)

type options struct {
	crashtest.Options
	start     time.Time
	delays    *fakeaws.Delays
	indexes   []func(*fake.ClientBuilder)
	object    client.Object
	objects   []client.Object
	sharedEnv *Env
}

// WithScheme sets the scheme, which is otherwise Scheme().
func WithScheme(scheme *runtime.Scheme) Option { return func(o *options) { o.Scheme = scheme } }

// WithKinds adds list types of the objects that the controller may write, which crash-consistency and leak tests compare.
func WithKinds(lists ...client.ObjectList) Option {
	return func(o *options) { o.Kinds = append(o.Kinds, lists...) }
}

// WithStatus adds types with a status subresource.
func WithStatus(types ...client.Object) Option {
	return func(o *options) { o.WithStatus = append(o.WithStatus, types...) }
}

// WithSchemas makes server-side apply merge lists as the CRDs in these directories of the repository define. Controllers that share an
// object's status need it.
func WithSchemas(directories ...string) Option {
	return func(o *options) {
		for _, directory := range directories {
			o.Converters = append(o.Converters, crashtest.Converter(inRepository(directory)))
		}
	}
}

// WithIndex adds a field index, for controllers that list by field.
func WithIndex(obj client.Object, field string, values client.IndexerFunc) Option {
	return func(o *options) {
		o.indexes = append(o.indexes, func(b *fake.ClientBuilder) { b.WithIndex(obj, field, values) })
	}
}

// WithEventIndex indexes events by their object, as the control-plane-operator does.
func WithEventIndex() Option {
	return WithIndex(&corev1.Event{}, "involvedObject.uid", func(obj client.Object) []string {
		return []string{string(obj.(*corev1.Event).InvolvedObject.UID)}
	})
}

// WithObjects creates objects.
func WithObjects(objs ...client.Object) Option {
	return func(o *options) { o.objects = append(o.objects, objs...) }
}

// For creates the object under test. The environment knows its kind and its status subresource.
func For(obj client.Object, list client.ObjectList) Option {
	return func(o *options) {
		o.object = obj
		o.objects = append(o.objects, obj)
		o.Kinds = append(o.Kinds, list)
		o.WithStatus = append(o.WithStatus, obj)
	}
}

// WithRealTime starts the clock at the real time. Tests of deletions need it, because the fake API server takes the time of a deletion from
// the real clock, and tests of certificates, which are verified with the real time.
func WithRealTime() Option { return WithStart(time.Now()) }

// WithStart starts the clock at another time than Start.
func WithStart(start time.Time) Option { return func(o *options) { o.start = start } }

// WithDelays sets the delays of AWS.
func WithDelays(delays fakeaws.Delays) Option { return func(o *options) { o.delays = &delays } }

// WithAWSOf shares the AWS and the clock of another environment. Resources in AWS are tagged with the UIDs of objects, so firstUID must
// differ from the number of the other environment's objects.
func WithAWSOf(other *Env, firstUID int) Option {
	return func(o *options) { o.sharedEnv, o.FirstUID = other, firstUID }
}

// New returns an environment. An unexpected call of AWS fails the test.
func New(t testing.TB, opts ...Option) *Env {
	t.Helper()
	o := &options{start: Start}
	for _, opt := range opts {
		opt(o)
	}
	if o.Scheme == nil {
		o.Scheme = defaultScheme()
	}
	if len(o.indexes) > 0 {
		o.Index = func(b *fake.ClientBuilder) {
			for _, add := range o.indexes {
				add(b)
			}
		}
	}
	e := &Env{Cluster: crashtest.NewCluster(o.Options), T: t, Scheme: o.Scheme, Events: &EventLog{}, Object: o.object, Tick: 20 * time.Second}
	if o.sharedEnv != nil {
		e.Clock, e.AWS = o.sharedEnv.Clock, o.sharedEnv.AWS
	} else {
		e.Clock = clocktesting.NewFakeClock(o.start)
		e.AWS = fakeaws.New(e.Clock).FailOn(t)
	}
	if o.delays != nil {
		e.AWS.SetDelays(*o.delays)
	}
	e.Create(o.objects...)
	return e
}

// ReportTo lets a subtest use the environment of its parent: failures are reported to t until the subtest ends.
func (e *Env) ReportTo(t testing.TB) {
	parent := e.T
	e.T = t
	t.Cleanup(func() { e.T = parent })
}

// Must ends the test at an error.
func (e *Env) Must(err error) {
	e.T.Helper()
	if err != nil {
		e.T.Fatal(err)
	}
}

// ClientWith returns the client of the controller with calls that the test changes, such as those to a cache that lags behind.
func (e *Env) ClientWith(funcs interceptor.Funcs) client.WithWatch {
	return interceptor.NewClient(e.Client().(client.WithWatch), funcs)
}

// Scenario returns the scenario of crash-consistency and leak tests. It is complete when the conditions of the object under test are True.
func (e *Env) Scenario(conditions ...string) *crashtest.Scenario {
	return &crashtest.Scenario{
		Cluster: e.Cluster, Cloud: e.AWS.Snapshot, Start: e.Start, OtherControllers: e.Others, Advance: e.Clock.Step,
		Ready:  e.Ready(conditions...),
		Delete: e.deleteObject,
	}
}
