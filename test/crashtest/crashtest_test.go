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

// toy is a controller that makes one thing in a cloud for one ConfigMap, and
// the ways in which such controllers go wrong.
type toy struct {
	cluster *Cluster
	cloud   map[string]bool
	made    int

	newNameEachTime bool // creates again after a lost answer
	noFinalizer     bool // forgets what it made
	restless        bool // writes on every pass
	swallows        bool // does not tell that a write failed
}

const finalizer = "example.com/toy"

func (y *toy) story() *Scenario {
	return &Scenario{
		Cluster: y.cluster,
		Cloud:   func() string { return fmt.Sprintf("%d things", len(y.cloud)) },
		Start: func() func(context.Context) error {
			return func(ctx context.Context) error { return y.cluster.Queue(ctrl.Result{}, y.reconcile(ctx)) }
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
	if cm.Data["id"] != "" && !y.restless {
		return nil
	}
	id := "thing-1"
	if y.newNameEachTime {
		y.made++
		id = fmt.Sprintf("thing-%d", y.made)
	}
	if err := y.cluster.Calls.write("aws create", func() error { y.cloud[id] = true; return nil }); err != nil {
		return err
	}
	cm.Data = map[string]string{"id": id}
	if err := c.Update(ctx, cm); err != nil && !y.swallows {
		return err
	}
	return nil
}

func begin(change func(*toy)) Setup {
	return func(t testing.TB) *Scenario {
		y := &toy{cloud: map[string]bool{}, cluster: NewCluster(Options{
			Scheme: clientgoscheme.Scheme,
			Kinds:  []client.ObjectList{&corev1.ConfigMapList{}},
		})}
		if change != nil {
			change(y)
		}
		y.cluster.Create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "toy"}})
		return y.story()
	}
}

func TestAGoodControllerPasses(t *testing.T) {
	CrashConsistency(t, begin(nil))
	NoLeaks(t, begin(nil))
	Fault(t, begin(nil), func(*Scenario) {})
	APIFaults(t, begin(nil))
}

// spy hears a trial fail.
type spy struct {
	testing.TB
	failed bool
}

func (s *spy) Errorf(string, ...any) { s.failed = true }
func (s *spy) Fatalf(string, ...any) { s.failed = true; panic(s) }
func (s *spy) Helper()               {}

func (s *spy) watch(run func()) bool {
	defer func() {
		if r := recover(); r != nil && r != any(s) {
			panic(r)
		}
	}()
	run()
	return s.failed
}

func TestTrialsFindBadControllers(t *testing.T) {
	t.Run("one that creates again after a lost answer", func(t *testing.T) {
		b := begin(func(y *toy) { y.newNameEachTime = true })
		s := &spy{TB: t}
		s.watch(func() { crashAt(s, b, 2, finalState(t, b)) })
		if !s.failed {
			t.Error("the second thing went unseen")
		}
	})
	t.Run("one that forgets what it made", func(t *testing.T) {
		b := begin(func(y *toy) { y.noFinalizer = true })
		s := &spy{TB: t}
		s.watch(func() { leakAt(s, b, 1, 2, "0 things") })
		if !s.failed {
			t.Error("the thing left behind went unseen")
		}
	})
	t.Run("one that never falls silent", func(t *testing.T) {
		b := begin(func(y *toy) { y.restless = true })
		s := &spy{TB: t}
		s.watch(func() { story := b(t); settle(s, story, story.Start()) })
		if !s.failed {
			t.Error("the writes at rest went unseen")
		}
	})
}
