package etcd_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
	"github.com/hosted-control-planes/hypershift/test/fixture/etcdserver"
)

// The alarm of a stopped cluster can still be read.
func TestCorruptAlarmNamesTheMember(t *testing.T) {
	m := etcdserver.New(t, "etcd-0")
	m.Alone()
	c := etcdserver.Connect(t, m)
	if got, err := etcd.CorruptMembers(t.Context(), c); len(got) > 0 || err != nil {
		t.Fatalf("at first: %v, %v", got, err)
	}
	list, err := c.MemberList(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = etcdserverpb.NewMaintenanceClient(c.ActiveConnection()).Alarm(t.Context(), &etcdserverpb.AlarmRequest{
		Action: etcdserverpb.AlarmRequest_ACTIVATE, MemberID: list.Members[0].ID, Alarm: etcdserverpb.AlarmType_CORRUPT,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(t.Context(), "key", "value"); err == nil || !strings.Contains(err.Error(), "corrupt cluster") {
		t.Errorf("etcd writes with corrupt data: %v", err)
	}
	if got, err := etcd.CorruptMembers(t.Context(), c); !slices.Equal(got, []string{"etcd-0"}) || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestCorruptionChecksDoNotDelayTheFirstStart(t *testing.T) {
	var members []*etcdserver.Server
	var all []string
	for _, name := range []string{"etcd-0", "etcd-1", "etcd-2"} {
		m := etcdserver.New(t, name)
		members, all = append(members, m), append(all, name+"="+m.PeerURL)
	}
	started := time.Now()
	for _, m := range members {
		m.Start(strings.Join(all, ","), "new", "--feature-gates=InitialCorruptCheck=true,CompactHashCheck=true")
	}
	for _, m := range members {
		m.Ready()
	}
	t.Logf("three members are ready after %s", time.Since(started))
	// The second start has data to compare.
	if _, err := etcdserver.Connect(t, members...).Put(t.Context(), "key", "value"); err != nil {
		t.Fatal(err)
	}
	members[0].Kill()
	members[0].Start(strings.Join(all, ","), "new", "--feature-gates=InitialCorruptCheck=true,CompactHashCheck=true")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		got, err := etcdserver.Connect(t, members[0]).Get(ctx, "key")
		return err == nil && len(got.Kvs) == 1, nil
	})
	if err != nil {
		t.Error(err)
	}
}
