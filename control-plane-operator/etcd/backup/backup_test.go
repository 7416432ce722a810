package backup_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/backup"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/backup/take"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/backup/upload"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/backup/verify"
	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
	"github.com/hosted-control-planes/hypershift/test/fixture/etcdserver"
)

// aPod is the pod of a backup, with an etcd on loopback and a bucket that is an HTTP server.
type aPod struct {
	t      *testing.T
	etcd   *clientv3.Client
	dir    string
	take   *take.Taker
	verify *verify.Verifier
	upload *upload.Uploader
	// parts are the bodies by the path of the URL.
	parts map[string][]byte
	// refuse returns the status of the next response, or 0.
	refuse func() int
}

// hooks are calls that a test changes.
type hooks struct {
	*clientv3.Client
	beforeSnapshot func()
}

func (h *hooks) Snapshot(ctx context.Context) (io.ReadCloser, error) {
	if h.beforeSnapshot != nil {
		h.beforeSnapshot()
	}
	return h.Client.Snapshot(ctx)
}

func (h *hooks) Close() error { return nil }

func newPod(t *testing.T) (*aPod, *hooks) {
	t.Helper()
	programs, err := pinned.Ensure(t.Context(), os.Stderr, "etcd", "etcdutl")
	if err != nil {
		t.Fatal(err)
	}
	server := etcdserver.New(t, "etcd-0")
	server.Alone()
	p := &aPod{t: t, dir: t.TempDir(), etcd: etcdserver.Connect(t, server), parts: map[string][]byte{}, refuse: func() int { return 0 }}
	h := &hooks{Client: p.etcd}
	sidecar := filepath.Join(t.TempDir(), "sidecar")
	p.must(os.WriteFile(sidecar, []byte("program"), 0o600))
	p.take = &take.Taker{
		Endpoints: []string{"http://127.0.0.1:1", server.ClientURL}, Dir: p.dir, Sidecar: sidecar,
		Connect: func(endpoint string) (take.API, error) {
			if endpoint != server.ClientURL {
				return nil, fmt.Errorf("%s does not answer", endpoint)
			}
			return h, nil
		},
	}
	other := etcdserver.New(t, "scratch")
	p.verify = &verify.Verifier{Dir: p.dir, Etcdutl: programs["etcdutl"], Etcd: programs["etcd"], ClientURL: other.ClientURL, PeerURL: other.PeerURL}
	bucket := httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(bucket.Close)
	p.upload = &upload.Uploader{Dir: p.dir, Uploads: filepath.Join(t.TempDir(), "uploads.json"), Message: filepath.Join(t.TempDir(), "message"), Client: bucket.Client()}
	p.give(etcdbackup.Uploads{PartBytes: 16 << 10, URLs: urls(bucket.URL, 100)})
	for i := range 50 {
		p.put(fmt.Sprintf("/registry/a/%d", i), strings.Repeat("x", 100))
	}
	return p, h
}

func urls(server string, n int) (urls []string) {
	for i := range n {
		urls = append(urls, fmt.Sprintf("%s/%03d?signature=secret", server, i))
	}
	return urls
}

func (p *aPod) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if status := p.refuse(); status != 0 || err != nil {
		w.WriteHeader(max(status, http.StatusBadRequest))
		return
	}
	p.parts[r.URL.Path] = body
}

func (p *aPod) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *aPod) give(to etcdbackup.Uploads) {
	p.t.Helper()
	text, err := json.Marshal(to)
	p.must(err)
	p.must(os.WriteFile(p.upload.Uploads, text, 0o600))
}

func (p *aPod) put(key, value string) int64 {
	p.t.Helper()
	resp, err := p.etcd.Put(p.t.Context(), key, value)
	p.must(err)
	return resp.Header.Revision
}

// stored returns the content of the parts in their order.
func (p *aPod) stored() []byte {
	var all bytes.Buffer
	for i := 0; ; i++ {
		part, ok := p.parts[fmt.Sprintf("/%03d", i)]
		if !ok {
			return all.Bytes()
		}
		all.Write(part)
	}
}

func TestBackupIsTakenVerifiedAndUploaded(t *testing.T) {
	p, _ := newPod(t)
	revision := p.put("/registry/last", "1")
	p.must(p.take.Run(t.Context()))
	p.put("/registry/after", "1")
	p.must(p.verify.Run(t.Context()))
	failures := 2
	p.refuse = func() int {
		if failures--; failures >= 0 {
			return http.StatusServiceUnavailable
		}
		return 0
	}
	p.must(p.upload.Run(t.Context()))
	message, err := os.ReadFile(p.upload.Message)
	p.must(err)
	facts, err := etcdbackup.Decode(message)
	p.must(err)
	if facts.Revision != revision || facts.Keys != 51 || !facts.Verified || facts.Hash == 0 || facts.Version == "" {
		t.Errorf("the facts are %+v, want revision %d with 51 keys", facts, revision)
	}
	want, err := os.ReadFile(backup.Snapshot(p.dir))
	p.must(err)
	if got := p.stored(); !bytes.Equal(got, want) || int64(len(got)) != facts.SizeBytes {
		t.Errorf("%d bytes are stored, the snapshot has %d and the facts have %d", len(got), len(want), facts.SizeBytes)
	}
	if len(message) > 4096 {
		t.Errorf("the kubelet cuts a message of %d bytes", len(message))
	}
	if _, err := os.Stat(backup.Scratch(p.dir)); !os.IsNotExist(err) {
		t.Errorf("the scratch data is left: %v", err)
	}
}

// The API server compacts etcd every five minutes.
func TestSnapshotIsTakenAgainAfterACompaction(t *testing.T) {
	p, h := newPod(t)
	compactions := 0
	h.beforeSnapshot = func() {
		if compactions++; compactions <= 2 {
			_, err := p.etcd.Compact(t.Context(), p.put("/registry/a/1", "y"), clientv3.WithCompactPhysical())
			p.must(err)
		}
	}
	p.must(p.take.Run(t.Context()))
	if compactions != 3 {
		t.Errorf("%d snapshots were taken, want 3", compactions)
	}
	p.must(p.verify.Run(t.Context()))
}

func TestDamagedSnapshotIsNotUploaded(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(*aPod)
		want   string
	}{
		"a byte is changed": {func(p *aPod) {
			file := backup.Snapshot(p.dir)
			text, err := os.ReadFile(file)
			p.must(err)
			text[len(text)/2] ^= 1
			p.must(os.WriteFile(file, text, 0o600))
		}, "unpacking the snapshot: exit status"},
		"a key is missing, and the checksum of etcd is right": {(*aPod).fromAnotherEtcd, "the snapshot is not used: at revision"},
		"the facts are of another etcd": {func(p *aPod) {
			facts, err := backup.ReadFacts(p.dir)
			p.must(err)
			facts.Hash++
			p.must(backup.WriteFacts(p.dir, facts))
		}, "the snapshot is not used: at revision"},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := newPod(t)
			p.must(p.take.Run(t.Context()))
			c.damage(p)
			if err := p.verify.Run(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if err := p.upload.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "is not verified") {
				t.Errorf("the upload: %v", err)
			}
			if len(p.parts) > 0 {
				t.Error("parts are uploaded")
			}
		})
	}
}

// fromAnotherEtcd replaces the snapshot by a valid one of an etcd that has lost a write.
func (p *aPod) fromAnotherEtcd() {
	p.t.Helper()
	other := etcdserver.New(p.t, "other")
	other.Alone()
	api := etcdserver.Connect(p.t, other)
	for i := range 50 {
		_, err := api.Put(p.t.Context(), fmt.Sprintf("/registry/a/%d", i%49), strings.Repeat("x", 100))
		p.must(err)
	}
	r, err := api.Snapshot(p.t.Context())
	p.must(err)
	text, err := io.ReadAll(r)
	p.must(err)
	p.must(os.WriteFile(backup.Snapshot(p.dir), text, 0o600))
}

func TestUploadsThatFail(t *testing.T) {
	p, _ := newPod(t)
	p.must(p.take.Run(t.Context()))
	p.must(p.verify.Run(t.Context()))
	for name, c := range map[string]struct {
		change func()
		want   string
	}{
		"the URLs have expired": {func() { p.refuse = func() int { return http.StatusForbidden } }, "uploading part 1: S3 returned 403 Forbidden"},
		"S3 does not serve":     {func() { p.refuse = func() int { return http.StatusInternalServerError } }, "uploading part 1: S3 returned 500"},
		"it is larger than the parts": {func() {
			p.give(etcdbackup.Uploads{PartBytes: 1024, URLs: urls("http://127.0.0.1:1", 2)})
		}, "there are only 2 parts of 1024 bytes"},
		"nobody answers": {func() {
			p.give(etcdbackup.Uploads{PartBytes: 1 << 30, URLs: urls("http://127.0.0.1:1", 2)})
		}, "connection refused"},
		"no URLs": {func() { p.give(etcdbackup.Uploads{}) }, "has no URLs"},
	} {
		t.Run(name, func(t *testing.T) {
			before, err := os.ReadFile(p.upload.Uploads)
			p.must(err)
			c.change()
			if err := p.upload.Run(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if _, err := os.Stat(p.upload.Message); !os.IsNotExist(err) {
				t.Errorf("there is a message: %v", err)
			}
			p.refuse = func() int { return 0 }
			p.must(os.WriteFile(p.upload.Uploads, before, 0o600))
		})
	}
}

func TestNoMemberServes(t *testing.T) {
	p, _ := newPod(t)
	p.take.Endpoints = p.take.Endpoints[:1]
	if err := p.take.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no member of etcd can serve a snapshot: http://127.0.0.1:1") {
		t.Errorf("got %v", err)
	}
}
