package member

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/test/bed/process"
)

// A node is a member that really runs, on loopback.
type node struct {
	peer
	client, metrics string
	running         *process.Process
}

// bench has three of them.
type bench struct {
	t       *testing.T
	dir     string
	program string
	nodes   []*node
}

func newBench(t *testing.T) *bench {
	programs, err := pinned.Ensure(t.Context(), os.Stderr, "etcd")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: t.TempDir(), program: programs["etcd"]}
	for i := range 3 {
		n := &node{peer: peer{name: fmt.Sprintf("etcd-%d", i), url: b.address()}, client: b.address(), metrics: b.address()}
		b.nodes = append(b.nodes, n)
	}
	t.Cleanup(func() {
		for _, n := range b.nodes {
			if n.running != nil {
				n.running.Kill()
			}
		}
	})
	return b
}

func (b *bench) address() string {
	b.t.Helper()
	port, err := process.FreePort()
	if err != nil {
		b.t.Fatal(err)
	}
	return fmt.Sprintf("http://127.0.0.1:%d", port)
}

func (b *bench) peers() []peer {
	var peers []peer
	for _, n := range b.nodes {
		peers = append(peers, n.peer)
	}
	return peers
}

func (b *bench) data(n *node) string { return filepath.Join(b.dir, n.name) }

func (b *bench) start(n *node, initial, state string) {
	b.t.Helper()
	p, err := process.Start(process.Spec{Name: n.name, Path: b.program, Log: b.data(n) + ".log", Args: []string{
		"--name=" + n.name, "--data-dir=" + b.data(n), "--initial-cluster=" + initial, "--initial-cluster-state=" + state,
		"--listen-peer-urls=" + n.url, "--initial-advertise-peer-urls=" + n.url,
		"--listen-client-urls=" + n.client, "--advertise-client-urls=" + n.client, "--listen-metrics-urls=" + n.metrics,
	}})
	if err != nil {
		b.t.Fatal(err)
	}
	n.running = p
}

func (b *bench) ready(n *node) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	if err := n.running.Ready(ctx, http.DefaultClient, n.metrics+"/readyz"); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) connect(nodes ...*node) *clientv3.Client {
	b.t.Helper()
	var urls []string
	for _, n := range nodes {
		urls = append(urls, n.client)
	}
	c, err := clientv3.New(clientv3.Config{Endpoints: urls, Logger: zap.NewNop()})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { c.Close() })
	return c
}

func TestAVolumeIsLost(t *testing.T) {
	b := newBench(t)
	var all []string
	for _, p := range b.peers() {
		all = append(all, p.name+"="+p.url)
	}
	for _, n := range b.nodes {
		b.start(n, strings.Join(all, ","), "new")
	}
	for _, n := range b.nodes {
		b.ready(n)
	}
	lost, left := b.nodes[2], b.connect(b.nodes[0], b.nodes[1])
	if _, err := left.Put(t.Context(), "key", "kept by the others"); err != nil {
		t.Fatal(err)
	}
	lost.running.Kill()
	if err := os.RemoveAll(b.data(lost)); err != nil {
		t.Fatal(err)
	}

	// As the init container does, until etcd lets it: a leader that was just
	// elected asks for patience.
	var initial string
	retry(t, func(ctx context.Context) (err error) {
		initial, err = join(ctx, left, lost.peer, b.peers())
		return err
	})
	b.start(lost, initial, "existing")
	b.ready(lost)

	got, err := b.connect(lost).Get(t.Context(), "key", clientv3.WithSerializable()) // from its own disk
	if err != nil || len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "kept by the others" {
		t.Errorf("the member that came back has %v, %v", got, err)
	}
	list, err := left.MemberList(t.Context())
	if err != nil || len(list.Members) != 3 {
		t.Errorf("the cluster is %v, %v", list, err)
	}
}

func retry(t *testing.T, try func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		err := try(ctx)
		if err == nil {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatal(err)
		}
	}
}
