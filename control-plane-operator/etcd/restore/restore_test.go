package restore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/datadir"
	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
)

const content = "a snapshot"

var checksum = func() string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}()

// A shop serves a snapshot at /demo.db and other files of a test.
type shop struct {
	*Fetcher
	t     *testing.T
	files map[string]string
	url   string
}

func newShop(t *testing.T) *shop {
	s := &shop{t: t, files: map[string]string{"/demo.db": content}}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := s.files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if text == "forbidden" {
			http.Error(w, text, http.StatusForbidden)
			return
		}
		if text == "unavailable" {
			http.Error(w, text, http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(text)) // the client may be gone
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	s.url = server.URL + "/demo.db"
	s.Fetcher = &Fetcher{
		URL: s.url, File: filepath.Join(dir, "snapshot.db"), ChecksumFile: filepath.Join(dir, "snapshot.db.sha256"),
		Data: filepath.Join(t.TempDir(), "data"), Restored: filepath.Join(t.TempDir(), "restored"),
		MaxBytes: 1 << 20, Unpacker: filepath.Join(t.TempDir(), "sidecar"),
		Client: server.Client(), Clock: clock.RealClock{},
	}
	if err := os.WriteFile(s.Unpacker, []byte("unpacks"), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *shop) wantFetched() {
	s.t.Helper()
	if err := s.Run(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	if got, err := os.ReadFile(s.File); string(got) != content {
		s.t.Errorf("the file has %q, %v", got, err)
	}
	if got, err := os.ReadFile(s.ChecksumFile); string(got) != checksum {
		s.t.Errorf("its checksum is %q, %v", got, err)
	}
	if f, err := os.Stat(filepath.Join(filepath.Dir(s.File), "sidecar")); err != nil || f.Mode().Perm() != 0o755 {
		s.t.Errorf("the next container cannot run the program beside it: %v, %v", f, err)
	}
}

func (s *shop) wantFault(want string) {
	s.t.Helper()
	err := s.Run(s.t.Context())
	if err == nil || !strings.Contains(err.Error(), want) {
		s.t.Errorf("got %v, want %q", err, want)
	}
	left, _ := filepath.Glob(filepath.Dir(s.File) + "/snapshot*") // the pattern is valid
	if len(left) > 0 {
		s.t.Errorf("left behind: %v", left)
	}
}

func TestSnapshotIsDownloaded(t *testing.T) {
	for name, given := range map[string]func(*shop){
		"without a checksum":                   func(*shop) {},
		"with its checksum in the URL":         func(s *shop) { s.URL += "#sha256=" + strings.ToUpper(checksum) },
		"with its checksum beside it":          func(s *shop) { s.files["/demo.db.sha256"] = checksum + "  demo.db\n" },
		"by a presigned URL":                   func(s *shop) { s.URL += "?signature=x"; s.files["/demo.db.sha256"] = strings.Repeat("0", 64) },
		"where nobody may list what is beside": func(s *shop) { s.files["/demo.db.sha256"] = "forbidden" },
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			given(s)
			s.wantFetched()
		})
	}
}

func TestInvalidSnapshotIsNotUsed(t *testing.T) {
	wrong := strings.Repeat("ab", 32)
	for name, c := range map[string]struct {
		given func(*shop)
		want  string
	}{
		"it is another than the URL says": {
			func(s *shop) { s.URL += "#sha256=" + wrong }, "has the SHA-256 checksum " + checksum + ", but " + wrong + " is expected: it is not used",
		},
		"it differs from the published checksum": {func(s *shop) { s.files["/demo.db.sha256"] = wrong }, "it is not used"},
		"the published checksum is invalid":      {func(s *shop) { s.files["/demo.db.sha256"] = "<html>" }, "/demo.db.sha256 is not a SHA-256 checksum"},
		"its checksum cannot be fetched":         {func(s *shop) { s.files["/demo.db.sha256"] = "unavailable" }, "503 Service Unavailable"},
		"it is not there":                        {func(s *shop) { delete(s.files, "/demo.db") }, "404 Not Found"},
		"it is not for everybody":                {func(s *shop) { s.files["/demo.db"] = "forbidden" }, "such as by a presigned URL"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			c.given(s)
			s.wantFault(c.want)
		})
	}
}

// The server stops in the middle, or does not respond at all, and keeps the connection.
func TestStalledDownloadFails(t *testing.T) {
	for name, first := range map[string]string{"before it answers": "", "in the middle": "a snap"} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			fake := clocktesting.NewFakeClock(time.Time{})
			s.Clock = fake
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if first != "" {
					w.Header().Set("Content-Length", strconv.Itoa(len(content)))
					_, _ = io.WriteString(w, first) // as above
					w.(http.Flusher).Flush()
				}
				_ = wait.PollUntilContextCancel(r.Context(), time.Millisecond, true, func(context.Context) (bool, error) {
					fake.Step(idleTimeout)
					return false, nil
				}) // until the client disconnects
			}))
			t.Cleanup(server.Close)
			s.URL, s.Client = server.URL+"/demo.db#sha256="+checksum, server.Client()
			s.wantFault("/demo.db: the server has sent nothing for 1m0s")
		})
	}
}

func TestMessagesDoNotContainTheSignature(t *testing.T) {
	s := newShop(t)
	s.URL += "?signature=secret"
	s.Client = &http.Client{Transport: broken{}}
	if err := s.Run(t.Context()); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

type broken struct{}

func (broken) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("no route") }

// The URL of a presigned snapshot expires.
func TestExpiredURLDoesNotBlockAMemberWithData(t *testing.T) {
	for name, dir := range map[string]func(*shop) string{
		"etcd has begun":                    func(s *shop) string { return s.Data },
		"the snapshot was unpacked already": func(s *shop) string { return s.Restored },
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			s.files["/demo.db"] = "forbidden"
			wal := filepath.Join(dir(s), "member", "wal")
			if err := errors.Join(os.MkdirAll(wal, 0o700), os.WriteFile(filepath.Join(wal, "0-0.wal"), nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			if err := s.Run(t.Context()); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(s.File), "sidecar")); err != nil {
				t.Errorf("the next container has no program: %v", err)
			}
		})
	}
}

// A restore in place: older data does not count, and the containers that follow do not get the URL.
func TestRequestOfARestore(t *testing.T) {
	s := newShop(t)
	dir := filepath.Dir(s.File)
	s.Request, s.RestoreFile, s.URL = filepath.Join(t.TempDir(), "restore.json"), filepath.Join(dir, "restore.json"), ""
	request := etcdbackup.Restore{ID: "b", URL: s.url + "?signature=x#sha256=" + checksum, Revisions: 17}
	wal := filepath.Join(s.Data, "member", "wal")
	err := errors.Join(os.WriteFile(s.Request, request.Encode(), 0o600), os.MkdirAll(wal, 0o700), os.WriteFile(filepath.Join(wal, "0-0.wal"), nil, 0o600), datadir.MarkUnpacked(s.Data, "a"))
	if err != nil {
		t.Fatal(err)
	}
	s.wantFetched()
	if got, err := os.ReadFile(s.RestoreFile); string(got) != `{"id":"b","revisions":17}` {
		t.Errorf("the next container reads %s, %v", got, err)
	}
	if err := errors.Join(os.Remove(s.File), os.Remove(s.ChecksumFile), datadir.MarkUnpacked(s.Data, "b")); err != nil {
		t.Fatal(err)
	}
	s.files["/demo.db"] = "forbidden"
	if err := s.Run(t.Context()); err != nil {
		t.Errorf("a member with the data of the restore: %v", err)
	}
	if err := os.WriteFile(s.Request, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.wantFault("the restore in restore.json has no ID")
	for url, want := range map[string]string{
		s.url: "the checksum in the signed URL is not a SHA-256 checksum", "file:///etc/passwd#sha256=" + checksum: "must begin with https:// or http://",
	} {
		if err := os.WriteFile(s.Request, etcdbackup.Restore{ID: "c", URL: url}.Encode(), 0o600); err != nil {
			t.Fatal(err)
		}
		s.wantFault(want)
	}
}

func TestUnreadableVolumeIsNotEmpty(t *testing.T) {
	s := newShop(t)
	member := filepath.Join(s.Data, "member")
	if err := errors.Join(os.MkdirAll(member, 0o700), os.WriteFile(filepath.Join(member, "wal"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	s.wantFault("checking " + s.Data)
}

// Without a limit it would fill the disk of the node, which all its pods share.
func TestTooLargeSnapshotIsRejected(t *testing.T) {
	for name, size := range map[string]bool{"the server sends the size": true, "the server does not": false} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			s.MaxBytes = int64(len(content)) - 1
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if size {
					w.Header().Set("Content-Length", strconv.Itoa(len(content)))
				} else {
					w.(http.Flusher).Flush()
				}
				_, _ = io.WriteString(w, content) // as above
			}))
			t.Cleanup(server.Close)
			s.URL, s.Client = server.URL+"/demo.db#sha256="+checksum, server.Client()
			s.wantFault("has more than 0 MiB, more than fits on the volume of a member")
			s.MaxBytes++
			s.wantFetched()
		})
	}
}

// The server does not send the size. Data beyond the limit is not written to the disk.
func TestDownloadEndsAtTheLimit(t *testing.T) {
	const total = 64 << 20
	s := newShop(t)
	sent := make(chan int, 1)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := 0
		for chunk := make([]byte, 1<<16); n < total; {
			written, err := w.Write(chunk)
			if n += written; err != nil {
				break
			}
		}
		sent <- n
	}))
	t.Cleanup(server.Close)
	s.URL, s.Client = server.URL+"/demo.db#sha256="+checksum, server.Client()
	s.wantFault("has more than 1 MiB, more than fits on the volume of a member")
	if n := <-sent; n == total {
		t.Errorf("all %d bytes were read", n)
	}
}

func TestURLs(t *testing.T) {
	for name, c := range map[string]struct{ url, want, fault string }{
		"a bucket":                 {url: "s3://backups/demo/1.db", want: "https://backups.s3.amazonaws.com/demo/1.db"},
		"a bucket without a key":   {url: "s3://backups", fault: "write it like s3://bucket/key"},
		"another fragment":         {url: "https://example.com/1.db#md5=1", fault: "only #sha256=… is supported"},
		"a checksum that is short": {url: "https://example.com/1.db#sha256=12", fault: "64 hexadecimal digits"},
		"another protocol":         {url: "http://example.com/1.db", fault: "must begin with https:// or s3://"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parse(c.url)
			if c.fault != "" {
				if err == nil || !strings.Contains(err.Error(), c.fault) {
					t.Errorf("got %v, want %q", err, c.fault)
				}
				return
			}
			want, _ := url.Parse(c.want) // the URL is valid
			if err != nil || got.url != *want {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}
