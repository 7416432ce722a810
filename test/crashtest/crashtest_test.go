package crashtest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// toy is a controller that creates one thing in a cloud for one ConfigMap. Its fields switch on typical bugs.
type toy struct {
	cluster *Cluster
	cloud   map[string]bool
	made    int

	notIdempotent bool // creates again after a lost response
	noFinalizer   bool // leaks its objects
	alwaysWrites  bool // writes on every pass
	dropsErrors   bool // ignores the error of a write
}

const finalizer = "example.com/toy"

func (y *toy) scenario() *Scenario {
	return &Scenario{
		Cluster: y.cluster,
		Cloud:   func() string { return fmt.Sprintf("%d things", len(y.cloud)) },
		Start: func() func(context.Context) error {
			return func(ctx context.Context) error { return y.cluster.RecordResult(ctrl.Result{}, y.reconcile(ctx)) }
		},
		Advance: func(time.Duration) {},
		Ready: func(ctx context.Context) string {
			cm := &corev1.ConfigMap{}
			if err := y.cluster.Admin().Get(ctx, client.ObjectKey{Namespace: "ns", Name: "toy"}, cm); err != nil || cm.Data["id"] == "" {
				return "an id"
			}
			return ""
		},
		Delete: func(ctx context.Context) error {
			return y.cluster.Admin().Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "toy"}})
		},
		Mask: func(text string) string {
			return strings.NewReplacer("thing-1", "thing", "thing-2", "thing").Replace(text)
		},
	}
}

func (y *toy) reconcile(ctx context.Context) error {
	c := y.cluster.Client()
	cm := &corev1.ConfigMap{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: "ns", Name: "toy"}, cm); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !cm.DeletionTimestamp.IsZero() {
		if err := y.cluster.Calls.write("aws delete", func() error { clear(y.cloud); return nil }); err != nil {
			return err
		}
		return reconcile.RemoveFinalizer(ctx, c, cm, finalizer)
	}
	if !y.noFinalizer {
		if err := reconcile.NewWriter(c, c, cm, "toy", func(*corev1.ConfigMap) any { return nil }).AddFinalizer(ctx, finalizer); err != nil {
			return err
		}
	}
	if cm.Data["id"] != "" && !y.alwaysWrites {
		return nil
	}
	id := "thing-1"
	if y.notIdempotent {
		y.made++
		id = fmt.Sprintf("thing-%d", y.made)
	}
	if err := y.cluster.Calls.write("aws create", func() error { y.cloud[id] = true; return nil }); err != nil {
		return err
	}
	cm.Data = map[string]string{"id": id}
	if err := c.Update(ctx, cm); err != nil && !y.dropsErrors {
		return err
	}
	return nil
}

func newToy(change func(*toy)) Setup {
	return func(t testing.TB) *Scenario {
		y := &toy{cloud: map[string]bool{}, cluster: NewCluster(Options{
			Scheme: clientgoscheme.Scheme,
			Kinds:  []client.ObjectList{&corev1.ConfigMapList{}},
		})}
		if change != nil {
			change(y)
		}
		y.cluster.Create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "toy"}})
		return y.scenario()
	}
}

func TestCorrectControllerPasses(t *testing.T) {
	CrashConsistency(t, newToy(nil))
	NoLeaks(t, newToy(nil))
	FaultTolerance(t, newToy(nil), func(*Scenario) {})
	APIFaults(t, newToy(nil))
}

// failureRecorder records whether a test failed.
type failureRecorder struct {
	testing.TB
	failed bool
}

func (s *failureRecorder) Errorf(string, ...any) { s.failed = true }
func (s *failureRecorder) Fatalf(string, ...any) { s.failed = true; panic(s) }
func (s *failureRecorder) Helper()               {}

func (s *failureRecorder) run(do func()) bool {
	defer func() {
		if r := recover(); r != nil && r != any(s) {
			panic(r)
		}
	}()
	do()
	return s.failed
}

func TestIncorrectControllersFail(t *testing.T) {
	t.Run("a controller that creates again after a lost response", func(t *testing.T) {
		b := newToy(func(y *toy) { y.notIdempotent = true })
		s := &failureRecorder{TB: t}
		s.run(func() { crashAt(s, b, 2, convergedState(t, b)) })
		if !s.failed {
			t.Error("the test did not report the second thing")
		}
	})
	t.Run("a controller without a finalizer", func(t *testing.T) {
		b := newToy(func(y *toy) { y.noFinalizer = true })
		s := &failureRecorder{TB: t}
		s.run(func() { leakAt(s, b, 1, 2, "0 things") })
		if !s.failed {
			t.Error("the test did not report the thing left behind")
		}
	})
	t.Run("a controller that writes on every pass", func(t *testing.T) {
		b := newToy(func(y *toy) { y.alwaysWrites = true })
		s := &failureRecorder{TB: t}
		s.run(func() { scenario := b(t); converge(s, scenario, scenario.Start()) })
		if !s.failed {
			t.Error("the test did not report the writes of a converged controller")
		}
	})
}
