package defragmentation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// A cluster is an etcd of three members. Their databases shrink when they are defragmented.
type cluster struct {
	members map[string]*clientv3.StatusResponse
	down    string
	alarms  []*etcdserverpb.AlarmMember
	done    []string
}

func newCluster() *cluster {
	return &cluster{members: map[string]*clientv3.StatusResponse{"etcd-0": of(1, 400, 100), "etcd-1": of(2, 400, 100), "etcd-2": of(3, 400, 100)}}
}

func nameOf(endpoint string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(endpoint, "https://"), ".")
	return name
}

func (c *cluster) Status(_ context.Context, endpoint string) (*clientv3.StatusResponse, error) {
	if nameOf(endpoint) == c.down {
		return nil, errors.New("connection refused")
	}
	status := *c.members[nameOf(endpoint)]
	return &status, nil
}

func (c *cluster) Defragment(_ context.Context, endpoint string) (*clientv3.DefragmentResponse, error) {
	m := c.members[nameOf(endpoint)]
	m.DbSize = m.DbSizeInUse
	c.done = append(c.done, nameOf(endpoint))
	return &clientv3.DefragmentResponse{}, nil
}

func (c *cluster) AlarmList(context.Context) (*clientv3.AlarmResponse, error) {
	return &clientv3.AlarmResponse{Alarms: c.alarms}, nil
}

func (c *cluster) AlarmDisarm(_ context.Context, m *clientv3.AlarmMember) (*clientv3.AlarmResponse, error) {
	c.done = append(c.done, fmt.Sprintf("disarm %d", m.MemberID))
	c.alarms = slices.DeleteFunc(c.alarms, func(a *etcdserverpb.AlarmMember) bool { return a.MemberID == m.MemberID })
	return &clientv3.AlarmResponse{}, nil
}

func (c *cluster) Close() error { return nil }

type world struct {
	*cluster
	*Controller
	t      *testing.T
	clock  *clocktesting.FakeClock
	events *events.FakeRecorder
	hcp    *hyperv1.HostedControlPlane
	// connect returns a client of the members.
	connect func(context.Context, *hyperv1.HostedControlPlane) (API, error)
}

func newWorld(t *testing.T) *world {
	w := &world{
		cluster: newCluster(), t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), events: events.NewFakeRecorder(10),
		hcp: &hyperv1.HostedControlPlane{},
	}
	w.hcp.Namespace, w.hcp.Name = "clusters-demo", "demo"
	w.hcp.Spec.Etcd.ManagementType = hyperv1.Managed
	w.hcp.Spec.ControllerAvailabilityPolicy = hyperv1.HighlyAvailable
	w.connect = func(context.Context, *hyperv1.HostedControlPlane) (API, error) { return w.cluster, nil }
	w.Controller = New(Options{
		Recorder: w.events, Clock: w.clock,
		Connect: func(ctx context.Context, hcp *hyperv1.HostedControlPlane) (API, error) { return w.connect(ctx, hcp) },
	})
	return w
}

// pass runs one reconcile, and then advances the time to the next.
func (w *world) pass() {
	w.t.Helper()
	result, err := w.ReconcileObject(w.t.Context(), w.hcp)
	if err != nil || result.RequeueAfter == 0 {
		w.t.Fatalf("it has stopped: %+v, %v", result, err)
	}
	w.clock.Step(result.RequeueAfter)
}

func (w *world) wantDone(what ...string) {
	w.t.Helper()
	if !slices.Equal(w.done, what) {
		w.t.Errorf("done: %v, want %v", w.done, what)
	}
}

func TestMembersAreDefragmentedOneByOneAndTheLeaderLast(t *testing.T) {
	w := newWorld(t)
	w.pass()
	w.wantDone() // a new cluster
	for range 5 {
		w.pass()
	}
	w.wantDone("etcd-1", "etcd-2", "etcd-0")
	if got := <-w.events.Events; !strings.Contains(got, "the database of etcd-1 had 400 MiB, of which 100 MiB were in use") {
		t.Errorf("the user is told: %s", got)
	}
}

func TestOtherReconcilesDoNotTriggerACheck(t *testing.T) {
	w := newWorld(t)
	w.pass()
	w.pass()
	w.wantDone("etcd-1")
	w.clock.Step(-30 * time.Second) // the spec changes
	w.pass()
	w.wantDone("etcd-1")
}

func TestNoDefragmentationWhileAMemberIsMissing(t *testing.T) {
	w := newWorld(t)
	w.down = "etcd-2"
	for range 3 {
		w.pass()
	}
	w.wantDone()
	w.down = ""
	w.members["etcd-2"].Leader = 0
	w.pass()
	w.wantDone()
	w.members["etcd-2"].Leader = 1
	w.pass()
	w.wantDone("etcd-1")
}

func TestFullEtcdAcceptsWritesAfterDefragmentation(t *testing.T) {
	w := newWorld(t)
	w.members = map[string]*clientv3.StatusResponse{"etcd-0": of(1, 990, 700), "etcd-1": of(2, 960, 700), "etcd-2": of(3, 710, 700)}
	w.alarms = []*etcdserverpb.AlarmMember{
		{MemberID: 1, Alarm: etcdserverpb.AlarmType_NOSPACE}, {MemberID: 2, Alarm: etcdserverpb.AlarmType_NOSPACE},
		{MemberID: 3, Alarm: etcdserverpb.AlarmType_CORRUPT},
	}
	for range 5 {
		w.pass()
	}
	w.wantDone("etcd-1", "etcd-0", "disarm 1", "disarm 2")
	if len(w.alarms) != 1 {
		t.Errorf("alarms that are on: %v", w.alarms)
	}
}

func TestUnmanagedEtcdIsSkipped(t *testing.T) {
	w := newWorld(t)
	w.hcp.Spec.Etcd.ManagementType = hyperv1.Unmanaged
	if result, err := w.ReconcileObject(t.Context(), w.hcp); err != nil || result.RequeueAfter != 0 {
		t.Errorf("a user's own etcd: %+v, %v", result, err)
	}
}
