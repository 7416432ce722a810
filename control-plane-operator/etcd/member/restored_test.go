package member

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/restore"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/snapshot"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/unpack"
	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/test/fixture/etcdserver"
)

// tokenOfEmpty is etcd's default cluster token, which a cluster that was not restored has in these tests.
const tokenOfEmpty = "etcd-cluster"

// A pod is a member with an etcd on loopback, and with its init containers.
type pod struct {
	*Member
	etcd     *etcdserver.Server
	fetch    *restore.Fetcher
	unpacker *unpack.Unpacker
}

// podsOf returns the pods of a highly available etcd that begins with the snapshot at the URL.
func podsOf(t *testing.T, server *httptest.Server) []*pod {
	t.Helper()
	programs, err := pinned.Ensure(t.Context(), os.Stderr, "etcd", "etcdutl")
	if err != nil {
		t.Fatal(err)
	}
	var pods []*pod
	var peers []peer
	for _, name := range three.Members() {
		m := newMember(t)
		m.Name, m.FromSnapshot, m.Clock = name, true, clock.RealClock{}
		p := &pod{Member: m, etcd: etcdserver.New(t, name)}
		m.Disk.Data = p.etcd.Data
		pods, peers = append(pods, p), append(peers, peer{name, p.etcd.PeerURL})
	}
	for _, p := range pods {
		p.peers = peers
		sidecar := filepath.Join(t.TempDir(), "sidecar")
		write(t, sidecar, "")
		file := filepath.Join(t.TempDir(), "snapshot.db")
		p.fetch = &restore.Fetcher{
			URL: server.URL + "/demo.db?signature=x", File: file, ChecksumFile: file + ".sha256", Data: p.Disk.Data, Restored: p.Disk.Restored,
			MaxBytes: 64 << 20, Unpacker: sidecar, Client: server.Client(), Clock: clock.RealClock{},
		}
		p.unpacker = &unpack.Unpacker{
			Data: p.Disk.Data, Restored: p.Disk.Restored, ChecksumFile: file + ".sha256", Token: tokenOfEmpty, Program: []string{
				programs["etcdutl"], "snapshot", "restore", file, "--name=" + p.Name, "--bump-revision=1000000000", "--mark-compacted",
				"--initial-cluster=" + p.initial(), "--initial-advertise-peer-urls=" + p.self().url,
			},
		}
	}
	return pods
}

// restores runs the init containers before the member container.
func (p *pod) restores(t *testing.T) {
	t.Helper()
	if err := p.fetch.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.unpacker.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// starts runs the member container once, and etcd if it succeeds.
func (p *pod) starts(t *testing.T) error {
	t.Helper()
	initial, state, err := p.decide(t.Context())
	if err != nil {
		return err
	}
	if err := p.Disk.RemoveRestored(); err != nil {
		return err
	}
	p.etcd.Start(initial, string(state))
	return nil
}

// finds connects the pod to another member, which is ready.
func (p *pod) finds(t *testing.T, other *pod) {
	p.Dial = func(context.Context) (API, error) { return etcdserver.Connect(t, other.etcd), nil }
}

// saved returns a snapshot of an etcd that contains a key with the value.
func saved(t *testing.T, value string) string {
	t.Helper()
	before := etcdserver.New(t, "before")
	before.Alone()
	c := etcdserver.Connect(t, before)
	if _, err := c.Put(t.Context(), "key", value); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if _, err := snapshot.Save(t.Context(), c, &text); err != nil {
		t.Fatal(err)
	}
	before.Kill()
	return text.String()
}

func serve(t *testing.T, answer http.HandlerFunc) *httptest.Server {
	server := httptest.NewTLSServer(answer)
	t.Cleanup(server.Close)
	return server
}

func serving(content string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(content)) } // the client verifies the content
}

// wantValue reads as kube-apiserver does: linearizable, from one member.
func wantValue(t *testing.T, p *pod, want string) {
	t.Helper()
	p.etcd.Ready()
	got, err := etcdserver.Connect(t, p.etcd).Get(t.Context(), "key")
	if err != nil || len(got.Kvs) != 1 || string(got.Kvs[0].Value) != want {
		t.Errorf("%s answers with %v, %v", p.Name, got, err)
	}
}

// The third member downloads more slowly. When it joins, the other two have lost each other, and neither is ready.
func TestJoinThatFailsDuringARestore(t *testing.T) {
	pods := podsOf(t, serve(t, serving(saved(t, "value"))))
	a, b, c := pods[0], pods[1], pods[2]
	for _, p := range []*pod{a, b} {
		p.restores(t)
		if err := p.starts(t); err != nil {
			t.Fatal(err)
		}
	}
	wantValue(t, a, "value")
	wantValue(t, b, "value")
	b.etcd.Kill()
	c.restores(t)
	c.finds(t, a)
	if err := c.starts(t); err == nil {
		t.Fatal("it joined a cluster that has no majority")
	}
	c.Dial = func(context.Context) (API, error) { return nil, errNoReadyMember }
	if err := c.starts(t); err != nil {
		t.Fatal(err)
	}
	wantValue(t, c, "value")
	if err := b.starts(t); err != nil {
		t.Fatal(err)
	}
	for _, p := range pods {
		wantValue(t, p, "value")
	}
}

// Two members are ready when the third one starts: it gets the data from them.
func TestLateMemberOfARestoredClusterJoins(t *testing.T) {
	pods := podsOf(t, serve(t, serving(saved(t, "value"))))
	for _, p := range pods[:2] {
		p.restores(t)
		if err := p.starts(t); err != nil {
			t.Fatal(err)
		}
	}
	c := pods[2]
	c.restores(t)
	c.finds(t, pods[0])
	pods[0].etcd.Ready()
	var why error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		why = c.starts(t)
		return why == nil, nil
	})
	if err != nil {
		t.Fatal(why)
	}
	wantValue(t, c, "value")
	if _, err := os.Stat(c.Disk.Restored); !os.IsNotExist(err) {
		t.Errorf("the volume has the snapshot beside the data: %v", err)
	}
}

// etcd accepts an empty member of the same cluster, and the reads of this member are empty. The ID of a restored cluster depends on its
// snapshot.
func TestRestoredClusterRejectsAnEmptyMember(t *testing.T) {
	pods := podsOf(t, serve(t, serving(saved(t, "value"))))
	for _, p := range pods[:2] {
		p.restores(t)
		if err := p.starts(t); err != nil {
			t.Fatal(err)
		}
	}
	pods[2].etcd.Start(pods[2].initial(), string(etcd.NewCluster))
	wantValue(t, pods[0], "value")
	wantNoPart(t, pods[2])
}

// The object is replaced during the downloads of the members.
func TestMembersWithDifferentSnapshotsAreNotOneCluster(t *testing.T) {
	first, second := saved(t, "first"), saved(t, "second")
	content := first
	pods := podsOf(t, serve(t, func(w http.ResponseWriter, r *http.Request) { serving(content)(w, r) }))
	for i, p := range pods {
		if i == 2 {
			content = second
		}
		p.restores(t)
	}
	for _, p := range pods {
		if err := p.starts(t); err != nil {
			t.Fatal(err)
		}
	}
	wantValue(t, pods[0], "first")
	wantValue(t, pods[1], "first")
	wantNoPart(t, pods[2])
}

// wantNoPart expects that the majority rejects the member. It must not respond.
func wantNoPart(t *testing.T, p *pod) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if got, err := etcdserver.Connect(t, p.etcd).Get(ctx, "key"); err == nil {
		t.Errorf("%s answers with %v", p.Name, got)
	}
}

// The HostedControlPlane was created again, so the status does not record that the cluster has been up. The URL was
// signed for a week.
func TestRestoredClusterRestartsAfterItsURLHasExpired(t *testing.T) {
	expired, content := false, saved(t, "value")
	pods := podsOf(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		if expired {
			http.Error(w, "Request has expired", http.StatusForbidden)
			return
		}
		serving(content)(w, r)
	}))
	for i, again := range []bool{false, true} {
		expired = again
		for _, p := range pods {
			p.restores(t)
			if err := p.starts(t); err != nil {
				t.Fatal(err)
			}
		}
		want := []string{"value", "written later"}[i]
		for _, p := range pods {
			wantValue(t, p, want)
		}
		if _, err := etcdserver.Connect(t, pods[0].etcd).Put(t.Context(), "key", "written later"); err != nil {
			t.Fatal(err)
		}
		for _, p := range pods {
			p.etcd.Kill()
		}
	}
}
