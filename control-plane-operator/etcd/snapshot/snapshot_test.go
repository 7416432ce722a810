package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/fixture/etcdserver"
)

func TestClusterIsRestoredFromASnapshot(t *testing.T) {
	before := etcdserver.New(t, "before")
	before.Alone()
	c := etcdserver.Connect(t, before)
	put, err := c.Put(t.Context(), "key", "value")
	if err != nil {
		t.Fatal(err)
	}
	got := restored(t, c)
	if got.Header.Revision <= put.Header.Revision+1000 {
		t.Errorf("revision %d could be taken for one of the old cluster", got.Header.Revision)
	}
}

// A member that has lost the others is not ready, but holds the data.
func TestSnapshotOfTheLastMember(t *testing.T) {
	last, other := etcdserver.New(t, "last"), etcdserver.New(t, "other")
	for _, m := range []*etcdserver.Server{last, other} {
		m.Start(last.Name+"="+last.PeerURL+","+other.Name+"="+other.PeerURL, "new")
	}
	last.Ready()
	c := etcdserver.Connect(t, last)
	if _, err := c.Put(t.Context(), "key", "value"); err != nil {
		t.Fatal(err)
	}
	other.Kill()
	restored(t, c)
}

// restored saves a snapshot, begins a cluster with it, and reads the value that was written before.
func restored(t *testing.T, from Source) *clientv3.GetResponse {
	t.Helper()
	programs, err := pinned.Ensure(t.Context(), os.Stderr, "etcdutl")
	if err != nil {
		t.Fatal(err)
	}
	var saved bytes.Buffer
	checksum, err := Save(t.Context(), from, &saved)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(saved.Bytes()); checksum != hex.EncodeToString(sum[:]) {
		t.Errorf("the checksum is %s, and the file has %x", checksum, sum)
	}
	file := filepath.Join(t.TempDir(), "snapshot.db")
	if err := os.WriteFile(file, saved.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	after := etcdserver.New(t, "after")
	unpack := exec.CommandContext(t.Context(), programs["etcdutl"], "snapshot", "restore", file, "--data-dir="+after.Data,
		"--name="+after.Name, "--initial-cluster="+after.Name+"="+after.PeerURL, "--initial-advertise-peer-urls="+after.PeerURL,
		"--bump-revision=1000000000", "--mark-compacted")
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("etcdutl: %v\n%s", err, out)
	}
	after.Alone()
	got, err := etcdserver.Connect(t, after).Get(t.Context(), "key")
	if err != nil || len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "value" {
		t.Fatalf("the new cluster has %v, %v", got, err)
	}
	return got
}

// The command that docs/etcd.md shows has no arguments.
func TestEndpointOfTheSnapshot(t *testing.T) {
	pod, elsewhere := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(pod, "namespace"), []byte("clusters-demo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		dir  string
		args []string
		want string // empty for an error
	}{
		"of the control plane in whose pod it runs": {dir: pod, want: "https://etcd-client.clusters-demo.svc:2379"},
		"of another one":                  {dir: pod, args: []string{"--namespace=clusters-other"}, want: "https://etcd-client.clusters-other.svc:2379"},
		"of the last member that is left": {dir: pod, args: []string{"--member=etcd-1"}, want: "https://etcd-1.etcd-discovery.clusters-demo.svc:2379"},
		"outside of a pod nobody knows":   {dir: elsewhere},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := parse(c.args, c.dir)
			if (err != nil) != (c.want == "") {
				t.Fatal(err)
			}
			if err == nil && o.endpoint() != c.want {
				t.Errorf("it asks %s, want %s", o.endpoint(), c.want)
			}
		})
	}
}

func TestTimeOfASnapshotIsRecorded(t *testing.T) {
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: "demo", Annotations: map[string]string{"a": "b"}}}
	scheme := runtime.NewScheme()
	if err := hyperv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(hcp).Build()
	if err := record(t.Context(), c, hcp.Namespace, time.Date(2026, 1, 2, 13, 0, 0, 0, time.FixedZone("CET", 3600))); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(hcp), hcp); err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"a": "b", names.EtcdSnapshotTimeAnnotation: "2026-01-02T12:00:00Z"}; !maps.Equal(hcp.Annotations, want) {
		t.Errorf("annotations %v, want %v", hcp.Annotations, want)
	}
}
