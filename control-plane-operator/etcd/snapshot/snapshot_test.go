package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/test/bed/etcdserver"
)

// What is saved here is what etcdutl unpacks when a cluster begins with it.
func TestAClusterBeginsWithASnapshot(t *testing.T) {
	programs, err := pinned.Ensure(t.Context(), os.Stderr, "etcdutl")
	if err != nil {
		t.Fatal(err)
	}
	before := etcdserver.New(t, "before")
	before.Alone()
	c := etcdserver.Connect(t, before)
	put, err := c.Put(t.Context(), "key", "value")
	if err != nil {
		t.Fatal(err)
	}
	var saved bytes.Buffer
	checksum, err := Save(t.Context(), c, &saved)
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
	if got.Header.Revision <= put.Header.Revision+1000 {
		t.Errorf("revision %d could be taken for one of the old cluster", got.Header.Revision)
	}
}
