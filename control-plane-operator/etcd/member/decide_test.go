package member

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/util/wait"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
)

var three = etcd.Cluster{Namespace: "clusters-demo", Size: 3}

// A cluster responds like etcd.
type cluster struct {
	members []*etcdserverpb.Member
	lost    error
	done    []string
}

// running is a cluster of members that have been started.
func running(names ...string) *cluster {
	c := &cluster{}
	for i, name := range names {
		c.members = append(c.members, &etcdserverpb.Member{
			ID: uint64(i + 1), Name: name, PeerURLs: []string{three.PeerURL(name)}, ClientURLs: []string{three.ClientURL(name)},
		})
	}
	return c
}

func (c *cluster) MemberList(context.Context, ...clientv3.OpOption) (*clientv3.MemberListResponse, error) {
	return &clientv3.MemberListResponse{Members: c.members}, c.lost
}

func (c *cluster) MemberAdd(_ context.Context, urls []string) (*clientv3.MemberAddResponse, error) {
	c.done = append(c.done, "add "+urls[0])
	c.members = append(c.members, &etcdserverpb.Member{ID: 100, PeerURLs: urls})
	return &clientv3.MemberAddResponse{Members: c.members}, nil
}

func (c *cluster) MemberRemove(_ context.Context, id uint64) (*clientv3.MemberRemoveResponse, error) {
	c.done = append(c.done, fmt.Sprintf("remove %d", id))
	var left []*etcdserverpb.Member
	for _, m := range c.members {
		if m.ID != id {
			left = append(left, m)
		}
	}
	c.members = left
	return &clientv3.MemberRemoveResponse{Members: left}, nil
}

func (c *cluster) Close() error { return nil }

// newMember is etcd-2 with an empty volume. No other member is ready.
func newMember(t *testing.T) *Member {
	t.Helper()
	dir := t.TempDir()
	d := Disk{
		Data: filepath.Join(dir, "data"), Restored: filepath.Join(dir, "restored"),
		CommonFile: filepath.Join(dir, "common"), ConfigFile: filepath.Join(dir, "config"), StateFile: filepath.Join(dir, "formed"),
	}
	write(t, d.CommonFile, "data-dir: /data\n")
	write(t, d.StateFile, "false")
	return &Member{
		Name: "etcd-2", Cluster: three, Disk: d,
		Dial:  func(context.Context) (API, error) { return nil, errNoReadyMember },
		Clock: clocktesting.NewFakeClock(time.Time{}),
		peers: peersOf(three),
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// meets connects the member to a ready cluster.
func (m *Member) meets(c *cluster) { m.Dial = func(context.Context) (API, error) { return c, nil } }

func (m *Member) config(t *testing.T) string {
	t.Helper()
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(m.Disk.ConfigFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func wantLine(t *testing.T, config, line string) {
	t.Helper()
	if !strings.Contains(config, line+"\n") {
		t.Errorf("want %s in\n%s", line, config)
	}
}

const initialOfThree = "initial-cluster: etcd-0=https://etcd-0.etcd-discovery.clusters-demo.svc:2380," +
	"etcd-1=https://etcd-1.etcd-discovery.clusters-demo.svc:2380,etcd-2=https://etcd-2.etcd-discovery.clusters-demo.svc:2380"

func TestAllMembersBeginTogether(t *testing.T) {
	config := newMember(t).config(t)
	wantLine(t, config, "data-dir: /data")
	wantLine(t, config, "name: etcd-2")
	wantLine(t, config, initialOfThree)
	wantLine(t, config, "initial-cluster-state: new")
}

func TestLateMemberJoins(t *testing.T) {
	m, c := newMember(t), running("etcd-0", "etcd-1")
	c.members = append(c.members, &etcdserverpb.Member{ID: 3, PeerURLs: []string{three.PeerURL("etcd-2")}})
	m.meets(c)
	config := m.config(t)
	wantLine(t, config, initialOfThree)
	wantLine(t, config, "initial-cluster-state: existing")
	if len(c.done) > 0 {
		t.Errorf("the cluster was changed: %v", c.done)
	}
}

func TestMemberThatLostItsDataIsReplaced(t *testing.T) {
	m, c := newMember(t), running("etcd-0", "etcd-1", "etcd-2")
	m.meets(c)
	config := m.config(t)
	wantLine(t, config, initialOfThree)
	wantLine(t, config, "initial-cluster-state: existing")
	if got := strings.Join(c.done, ", "); got != "remove 3, add "+three.PeerURL("etcd-2") {
		t.Errorf("to make room it did: %s", got)
	}
	// The pod is restarted before etcd has started its log.
	c.done = nil
	wantLine(t, m.config(t), "initial-cluster-state: existing")
	if len(c.done) > 0 {
		t.Errorf("the second time it did: %v", c.done)
	}
}

func TestRemovedMemberIsAddedAfterAnInterruption(t *testing.T) {
	m, c := newMember(t), running("etcd-0", "etcd-1")
	m.meets(c)
	wantLine(t, m.config(t), initialOfThree)
	if got := strings.Join(c.done, ", "); got != "add "+three.PeerURL("etcd-2") {
		t.Errorf("it did: %s", got)
	}
}

func TestMemberWithDataStartsWithoutOthers(t *testing.T) {
	m := newMember(t)
	write(t, filepath.Join(m.Disk.Data, "member", "wal", "0-0.wal"), "log")
	write(t, filepath.Join(m.Disk.Restored, "member", "wal", "0-0.wal"), "an old snapshot")
	m.Dial = func(context.Context) (API, error) { t.Fatal("it asked"); return nil, nil }
	wantLine(t, m.config(t), "name: etcd-2")
	if _, err := os.Stat(m.Disk.Restored); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a restore has left is still there: %v", err)
	}
}

func TestMemberWithoutDataDoesNotStartASecondCluster(t *testing.T) {
	for name, c := range map[string]struct {
		given func(*testing.T, *Member)
		want  string
	}{
		"the cluster has been up, and nobody is ready": {
			given: func(t *testing.T, m *Member) { write(t, m.Disk.StateFile, "true\n") },
			want:  "starting etcd-2: it has no data, and its cluster, which has been up before, has no majority",
		},
		"somebody is ready and loses the majority": {
			given: func(_ *testing.T, m *Member) { m.meets(&cluster{lost: errors.New("etcdserver: no leader")}) },
			want:  "listing the members of etcd: etcdserver: no leader",
		},
		"somebody is there who does not let us in": {
			given: func(_ *testing.T, m *Member) {
				m.Dial = func(context.Context) (API, error) { return nil, errors.New("bad certificate") }
			},
			want: "bad certificate",
		},
		"nobody says whether the cluster has been up": {
			given: func(t *testing.T, m *Member) {
				if err := os.Remove(m.Disk.StateFile); err != nil {
					t.Fatal(err)
				}
			},
			want: "reading whether the cluster has been up before",
		},
		"a stranger is a member": {
			given: func(_ *testing.T, m *Member) { m.meets(running("etcd-0", "etcd-1", "etcd-2", "other")) },
			want:  "which is not a member of this control plane",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMember(t)
			c.given(t, m)
			if _, _, err := m.decide(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// The status of the pod contains the reason, after a time in which other members may return.
func TestMemberThatLostItsDataExitsWithTheReason(t *testing.T) {
	m := newMember(t)
	write(t, m.Disk.StateFile, "true")
	clock := clocktesting.NewFakeClock(time.Time{})
	m.Clock = clock
	asked := 0
	m.Dial = func(context.Context) (API, error) {
		asked++
		clock.Step(startTimeout / 3)
		return nil, errNoReadyMember
	}
	go wait.PollUntilContextCancel(t.Context(), time.Millisecond, true, func(context.Context) (bool, error) { //nolint:errcheck // it runs until the test ends
		if clock.HasWaiters() {
			clock.Step(retryInterval)
		}
		return false, nil
	})
	if err := m.Run(t.Context()); !errors.Is(err, errDataLost) || asked < 2 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}

func TestRestoredSnapshotBecomesTheData(t *testing.T) {
	m := newMember(t)
	write(t, filepath.Join(m.Disk.Restored, "member", "wal", "0-0.wal"), "restored")
	if err := os.MkdirAll(filepath.Join(m.Disk.Data, "member", "snap"), 0o700); err != nil {
		t.Fatal(err)
	}
	wantLine(t, m.config(t), "initial-cluster-state: new")
	if got, err := os.ReadFile(filepath.Join(m.Disk.Data, "member", "wal", "0-0.wal")); string(got) != "restored" {
		t.Errorf("the data is %q, %v", got, err)
	}
}

func TestReplacedMemberDoesNotUseTheSnapshot(t *testing.T) {
	m, c := newMember(t), running("etcd-0", "etcd-1", "etcd-2")
	write(t, filepath.Join(m.Disk.Restored, "member", "wal", "0-0.wal"), "restored")
	m.meets(c)
	m.config(t)
	if found, err := m.Disk.HasData(""); found || err != nil {
		t.Error("it has the data of the snapshot, and the others have gone on")
	}
}

// Two other members were ready a moment ago and have lost each other, so that neither is ready.
func TestFailedJoinKeepsTheRestoredData(t *testing.T) {
	m := newMember(t)
	m.FromSnapshot = true
	write(t, filepath.Join(m.Disk.Restored, "member", "wal", "0-0.wal"), "restored")
	m.meets(&cluster{lost: errors.New("etcdserver: no leader")})
	if _, _, err := m.decide(t.Context()); err == nil {
		t.Fatal("it joined a cluster without a leader")
	}
	m.Dial = func(context.Context) (API, error) { return nil, errNoReadyMember }
	if _, _, err := m.decide(t.Context()); err != nil {
		t.Fatalf("it cannot begin: %v", err) // config would try again for ever
	}
	wantLine(t, m.config(t), "initial-cluster-state: new")
	if found, err := m.Disk.HasData(""); !found || err != nil {
		t.Errorf("it begins with nothing among members that begin with a snapshot: %v", err)
	}
}

func TestMemberOfARestoredClusterDoesNotBeginWithoutData(t *testing.T) {
	m := newMember(t)
	m.FromSnapshot = true
	if initial, state, err := m.decide(t.Context()); !errors.Is(err, errNotRestored) {
		t.Errorf("it begins %s, %s, %v", state, initial, err)
	}
}

func TestRestoredDataIsRemovedLast(t *testing.T) {
	m, c := newMember(t), running("etcd-0", "etcd-1")
	write(t, filepath.Join(m.Disk.Restored, "member", "wal", "0-0.wal"), "restored")
	m.meets(c)
	m.Disk.ConfigFile = filepath.Join(t.TempDir(), "missing", "config")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.Run(ctx); err == nil {
		t.Fatal("it has no configuration, and starts")
	}
	if _, err := os.Stat(m.Disk.Restored); err != nil {
		t.Errorf("the restored data is gone: %v", err)
	}
}

// An I/O error of the volume does not mean that it is empty.
func TestUnreadableVolumeIsNotEmpty(t *testing.T) {
	for name, dir := range map[string]func(*Member) string{
		"the data":              func(m *Member) string { return m.Disk.Data },
		"the unpacked snapshot": func(m *Member) string { return m.Disk.Restored },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMember(t)
			write(t, filepath.Join(dir(m), "member", "wal"), "a file where a directory should be")
			if initial, state, err := m.decide(t.Context()); err == nil {
				t.Errorf("it begins %s, %s", state, initial)
			}
		})
	}
}

func TestParse(t *testing.T) {
	m, err := Parse([]string{"--name=etcd-0", "--namespace=clusters-demo", "--size=3"})
	if err != nil || m.Name != "etcd-0" || m.Cluster != three || m.self().url != three.PeerURL("etcd-0") {
		t.Errorf("got %+v, %v", m, err)
	}
	for _, args := range [][]string{{"--name=etcd-0", "--namespace=clusters-demo"}, {"--name=etcd-3", "--namespace=clusters-demo", "--size=3"}} {
		if m, err := Parse(args); err == nil {
			t.Errorf("%v is %+v", args, m)
		}
	}
}
