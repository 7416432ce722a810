package contents

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

var pullSecret = client.ObjectKey{Namespace: "clusters", Name: "pull-secret"}

// testEnv has an API server whose reads are counted, and a watch that delivers its objects when a test says so.
type testEnv struct {
	t      *testing.T
	reader *Reader
	server client.Client
	watch  watch
	clock  *clocktesting.FakeClock
	reads  atomic.Int32
}

// watch holds the names and versions of Secrets.
type watch map[client.ObjectKey]metav1.ObjectMeta

func (w watch) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	found, ok := w[key]
	if !ok || obj.GetObjectKind().GroupVersionKind().Kind != "Secret" {
		return apierrors.NewNotFound(corev1.Resource("secrets"), key.Name)
	}
	obj.(*metav1.PartialObjectMetadata).ObjectMeta = found
	return nil
}

func (watch) List(context.Context, client.ObjectList, ...client.ListOption) error {
	panic("nobody lists")
}

func newTestEnv(t *testing.T) *testEnv {
	t.Helper()
	e := &testEnv{t: t, watch: watch{}, clock: clocktesting.NewFakeClock(time.Now())}
	e.server = fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			e.reads.Add(1)
			return c.Get(ctx, key, obj, opts...)
		},
	}).Build()
	e.reader = New(e.server, e.watch, e.clock)
	return e
}

// create creates the Secret, with a UID as of an API server.
func (e *testEnv) create(uid types.UID, value string) *corev1.Secret {
	e.t.Helper()
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: pullSecret.Namespace, Name: pullSecret.Name, UID: uid},
		Data:       map[string][]byte{"value": []byte(value)},
	}
	if err := e.server.Create(e.t.Context(), s); err != nil {
		e.t.Fatal(err)
	}
	return s
}

// update writes another value, which gives the Secret another version.
func (e *testEnv) update(s *corev1.Secret, value string) {
	e.t.Helper()
	before := s.ResourceVersion
	s.Data = map[string][]byte{"value": []byte(value)}
	if err := e.server.Update(e.t.Context(), s); err != nil {
		e.t.Fatal(err)
	}
	if s.ResourceVersion == before {
		e.t.Fatal("the version is the same")
	}
}

// deliver lets the watch have the Secret as it is.
func (e *testEnv) deliver(s *corev1.Secret) {
	e.watch[pullSecret] = metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, UID: s.UID, ResourceVersion: s.ResourceVersion}
}

func (e *testEnv) delete(s *corev1.Secret) {
	e.t.Helper()
	if err := e.server.Delete(e.t.Context(), s); err != nil {
		e.t.Fatal(err)
	}
}

// read returns the value, and the number of requests for it.
func (e *testEnv) read() (value string, requests int32) {
	e.t.Helper()
	before, s := e.reads.Load(), &corev1.Secret{}
	if err := e.reader.Get(e.t.Context(), pullSecret, s); err != nil {
		e.t.Fatal(err)
	}
	return string(s.Data["value"]), e.reads.Load() - before
}

func (e *testEnv) wantRead(why, value string, requests int32) {
	e.t.Helper()
	if got, n := e.read(); got != value || n != requests {
		e.t.Errorf("%s: got %q by %d requests, want %q by %d", why, got, n, value, requests)
	}
}

func TestEachVersionIsReadOnce(t *testing.T) {
	e := newTestEnv(t)
	s := e.create("a", "first")
	e.wantRead("before the watch has it", "first", 1)
	e.wantRead("before the watch has it, again", "first", 1)
	e.deliver(s)
	e.wantRead("first read of a version", "first", 1)
	e.wantRead("second read", "first", 0)
	e.update(s, "second")
	e.deliver(s)
	e.wantRead("a new version", "second", 1)
	e.wantRead("a new version, again", "second", 0)
}

func TestAChangeDuringTheReadIsNotLost(t *testing.T) {
	e := newTestEnv(t)
	s := e.create("a", "first")
	e.deliver(s)
	e.update(s, "second") // the watch has not delivered it yet
	e.wantRead("the server is ahead of the watch", "second", 1)
	e.deliver(s)
	e.wantRead("the watch has the version that was read", "second", 0)
}

// A Secret that is created again may have the version that another one had.
func TestAnotherSecretOfThatNameIsRead(t *testing.T) {
	e := newTestEnv(t)
	s := e.create("a", "first")
	e.deliver(s)
	e.read()
	e.delete(s)
	e.deliver(e.create("b", "second"))
	e.wantRead("another Secret", "second", 1)
}

func TestADeletedSecretIsNotFound(t *testing.T) {
	e := newTestEnv(t)
	s := e.create("a", "first")
	e.deliver(s)
	e.read()
	e.delete(s)
	delete(e.watch, pullSecret)
	if err := e.reader.Get(t.Context(), pullSecret, &corev1.Secret{}); !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
}

func TestContentsLeaveTheMemory(t *testing.T) {
	e := newTestEnv(t)
	e.deliver(e.create("a", "first"))
	e.read()
	e.clock.Step(lifetime + time.Second)
	if n := len(e.reader.memory); n != 0 {
		t.Errorf("%d versions are in memory", n)
	}
	e.wantRead("after their lifetime", "first", 1)
}

// A tenant that writes its Secret all the time, or a large one, does not fill the memory.
func TestATenantDoesNotFillTheMemory(t *testing.T) {
	e := newTestEnv(t)
	s := e.create("a", "0")
	for i := range 100 {
		e.update(s, strconv.Itoa(i+1))
		e.deliver(s)
		e.read()
		e.clock.Step(time.Second)
	}
	if n := len(e.reader.memory); n != 1 {
		t.Errorf("%d versions are in memory", n)
	}
	e.clock.Step(lifetime - 2*time.Second) // those of the earlier versions have passed, and that of the last one has not
	e.wantRead("the last version", "100", 0)
	large := strings.Repeat("x", maxSize+1)
	e.update(s, large)
	e.deliver(s)
	e.read()
	e.wantRead("a large one, again", large, 1)
}

func TestCallersGetCopies(t *testing.T) {
	e := newTestEnv(t)
	e.deliver(e.create("a", "first"))
	for range 2 { // what the server returned, and what was in memory
		s := &corev1.Secret{}
		if err := e.reader.Get(t.Context(), pullSecret, s); err != nil {
			t.Fatal(err)
		}
		copy(s.Data["value"], "XXXXX")
	}
	e.wantRead("after callers changed theirs", "first", 0)
}

func TestOtherKindsAndConcurrentReads(t *testing.T) {
	e := newTestEnv(t)
	e.deliver(e.create("a", "first"))
	if err := e.reader.Get(t.Context(), client.ObjectKey{Name: "clusters"}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
		t.Errorf("a Namespace: %v", err)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if value, _ := e.read(); value != "first" {
				t.Errorf("got %q", value)
			}
		})
	}
	all.Wait()
	if n := len(e.reader.memory); n != 1 {
		t.Errorf("%d versions are in memory", n)
	}
}
