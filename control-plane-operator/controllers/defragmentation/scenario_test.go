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

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/testenv"
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
	m := c.members[nameOf(endpoint)]
	return &clientv3.StatusResponse{Header: m.Header, Leader: m.Leader, DbSize: m.DbSize, DbSizeInUse: m.DbSizeInUse, DbSizeQuota: m.DbSizeQuota}, nil
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

// fakeMembers is a control plane with the members of its etcd.
type fakeMembers struct {
	*cluster
	*testenv.Env
	controller *Controller
	hcp        *hyperv1.HostedControlPlane
	// connect returns a client of the members.
	connect func(context.Context, *hyperv1.HostedControlPlane) (API, error)
}

func newFakeMembers(t *testing.T) *fakeMembers {
	e := &fakeMembers{cluster: newCluster(), Env: testenv.New(t), hcp: testenv.HostedControlPlane(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Etcd.ManagementType = hyperv1.Managed
		hcp.Spec.ControllerAvailabilityPolicy = hyperv1.HighlyAvailable
	})}
	e.connect = func(context.Context, *hyperv1.HostedControlPlane) (API, error) { return e.cluster, nil }
	e.controller = New(Options{
		Recorder: e.Events, Clock: e.Clock,
		Connect: func(ctx context.Context, hcp *hyperv1.HostedControlPlane) (API, error) { return e.connect(ctx, hcp) },
	})
	return e
}

// pass runs one reconcile, and then advances the time to the next.
func (e *fakeMembers) pass() {
	e.T.Helper()
	result, err := e.controller.ReconcileObject(e.T.Context(), e.hcp)
	if err != nil || result.RequeueAfter == 0 {
		e.T.Fatalf("it has stopped: %+v, %v", result, err)
	}
	e.Clock.Step(result.RequeueAfter)
}

func (e *fakeMembers) wantDone(what ...string) {
	e.T.Helper()
	if !slices.Equal(e.done, what) {
		e.T.Errorf("done: %v, want %v", e.done, what)
	}
}

func TestMembersAreDefragmentedOneByOneAndTheLeaderLast(t *testing.T) {
	e := newFakeMembers(t)
	e.pass()
	e.wantDone() // a new cluster
	for range 5 {
		e.pass()
	}
	e.wantDone("etcd-1", "etcd-2", "etcd-0")
	if got := e.Events.Drain(); len(got) == 0 || !strings.Contains(got[0], "the database of etcd-1 had 400 MiB, of which 100 MiB were in use") {
		t.Errorf("the user is told: %q", got)
	}
}

func TestOtherReconcilesDoNotTriggerACheck(t *testing.T) {
	e := newFakeMembers(t)
	e.pass()
	e.pass()
	e.wantDone("etcd-1")
	e.Clock.Step(-30 * time.Second) // the spec changes
	e.pass()
	e.wantDone("etcd-1")
}

func TestNoDefragmentationWhileAMemberIsMissing(t *testing.T) {
	e := newFakeMembers(t)
	e.down = "etcd-2"
	for range 3 {
		e.pass()
	}
	e.wantDone()
	e.down = ""
	e.members["etcd-2"].Leader = 0
	e.pass()
	e.wantDone()
	e.members["etcd-2"].Leader = 1
	e.pass()
	e.wantDone("etcd-1")
}

func TestFullEtcdAcceptsWritesAfterDefragmentation(t *testing.T) {
	e := newFakeMembers(t)
	e.members = map[string]*clientv3.StatusResponse{"etcd-0": of(1, 990, 700), "etcd-1": of(2, 960, 700), "etcd-2": of(3, 710, 700)}
	e.alarms = []*etcdserverpb.AlarmMember{
		{MemberID: 1, Alarm: etcdserverpb.AlarmType_NOSPACE}, {MemberID: 2, Alarm: etcdserverpb.AlarmType_NOSPACE},
		{MemberID: 3, Alarm: etcdserverpb.AlarmType_CORRUPT},
	}
	for range 5 {
		e.pass()
	}
	e.wantDone("etcd-1", "etcd-0", "disarm 1", "disarm 2")
	if len(e.alarms) != 1 {
		t.Errorf("alarms that are on: %v", e.alarms)
	}
}

func TestUnmanagedEtcdIsSkipped(t *testing.T) {
	e := newFakeMembers(t)
	e.hcp.Spec.Etcd.ManagementType = hyperv1.Unmanaged
	if result, err := e.controller.ReconcileObject(t.Context(), e.hcp); err != nil || result.RequeueAfter != 0 {
		t.Errorf("a user's own etcd: %+v, %v", result, err)
	}
}
