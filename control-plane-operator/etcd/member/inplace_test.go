package member

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
	"github.com/hosted-control-planes/hypershift/test/fixture/etcdserver"
)

// sentBack gives the pods a restore, as their StatefulSet does when the control plane has stopped.
func sentBack(t *testing.T, pods []*pod, url string, request etcdbackup.Restore) {
	t.Helper()
	if url != "" {
		request.URL = url + "/demo.db?signature=x#sha256=" + checksumOf(t, pods[0].fetch.Client, url+"/demo.db")
	}
	for _, p := range pods {
		p.etcd.Kill()
		// The pod is another one.
		p.fetch.File = filepath.Join(t.TempDir(), "snapshot.db")
		p.fetch.ChecksumFile, p.unpacker.ChecksumFile = p.fetch.File+".sha256", p.fetch.File+".sha256"
		p.unpacker.Program[3] = p.fetch.File
		p.fetch.URL, p.fetch.Request = "", filepath.Join(t.TempDir(), "request.json")
		p.fetch.RestoreFile = filepath.Join(filepath.Dir(p.fetch.File), "restore.json")
		p.unpacker.RestoreFile, p.RestoreFile = p.fetch.RestoreFile, p.fetch.RestoreFile
		write(t, p.fetch.Request, string(request.Encode()))
	}
}

// checksumOf returns the SHA-256 checksum of a file of a server.
func checksumOf(t *testing.T, from *http.Client, url string) string {
	t.Helper()
	response, err := from.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, response.Body); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// runTogether starts all members, and returns the revision of etcd.
func runTogether(t *testing.T, pods []*pod, want string) int64 {
	t.Helper()
	for _, p := range pods {
		p.restores(t)
		if err := p.starts(t); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range pods {
		wantValue(t, p, want)
	}
	got, err := etcdserver.Connect(t, pods[0].etcd).Get(t.Context(), "key")
	if err != nil {
		t.Fatal(err)
	}
	return got.Header.Revision
}

func change(t *testing.T, p *pod, value string) int64 {
	t.Helper()
	put, err := etcdserver.Connect(t, p.etcd).Put(t.Context(), "key", value)
	if err != nil {
		t.Fatal(err)
	}
	return put.Header.Revision
}

// A cluster goes back to a snapshot twice, and restarts between. A watch with a revision of one history must not continue in the next.
func TestMembersGoBackInPlace(t *testing.T) {
	server := serve(t, serving(saved(t, "value")))
	pods := podsOf(t, server)
	runTogether(t, pods, "value")
	seen := change(t, pods[0], "later")
	for i, request := range []etcdbackup.Restore{{ID: "a", Revisions: 1_700_000_000_000_000}, {ID: "b", Revisions: 1_700_000_060_000_000}} {
		sentBack(t, pods, server.URL, request)
		if revision := runTogether(t, pods, "value"); revision <= seen {
			t.Errorf("restore %d: revision %d, and clients have seen %d", i, revision, seen)
		}
		change(t, pods[1], "between")
		for _, p := range pods {
			p.etcd.Kill()
		}
		runTogether(t, pods, "between")
		seen = change(t, pods[0], "later")
	}
}

// A member is killed after each container of its pod.
func TestRestoreInPlaceSurvivesInterruptions(t *testing.T) {
	server := serve(t, serving(saved(t, "value")))
	for name, interrupt := range map[string]func(*testing.T, *pod){
		"after the download": func(t *testing.T, p *pod) {
			if err := p.fetch.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
		"after the snapshot is unpacked": func(t *testing.T, p *pod) { p.restores(t) },
		"after the data is replaced": func(t *testing.T, p *pod) {
			p.restores(t)
			if _, err := p.Disk.UseRestored("a"); err != nil {
				t.Fatal(err)
			}
		},
		"after the older data is removed": func(t *testing.T, p *pod) {
			p.restores(t)
			if err := os.RemoveAll(p.Disk.Data); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			pods := podsOf(t, server)
			runTogether(t, pods, "value")
			change(t, pods[0], "later")
			sentBack(t, pods, server.URL, etcdbackup.Restore{ID: "a", Revisions: 1_700_000_000_000_000})
			interrupt(t, pods[1])
			runTogether(t, pods, "value")
		})
	}
}

// Two members are ready when the third one begins: it joins them without its older data.
func TestLateMemberDropsItsOlderData(t *testing.T) {
	server := serve(t, serving(saved(t, "value")))
	pods := podsOf(t, server)
	runTogether(t, pods, "value")
	change(t, pods[0], "later")
	sentBack(t, pods, server.URL, etcdbackup.Restore{ID: "a", Revisions: 1_700_000_000_000_000})
	runTogether(t, pods[:2], "value")
	late := pods[2]
	late.restores(t)
	late.finds(t, pods[0])
	joins(t, late)
	wantValue(t, late, "value")
}

// A member was not reachable during the whole restore. Its pod starts when the others are up, without the containers of the restore. It must
// neither start with its older data nor join again each time.
func TestMemberThatMissedTheRestoreJoins(t *testing.T) {
	server := serve(t, serving(saved(t, "value")))
	pods := podsOf(t, server)
	runTogether(t, pods, "value")
	change(t, pods[0], "later")
	sentBack(t, pods, server.URL, etcdbackup.Restore{ID: "a", Revisions: 1_700_000_000_000_000})
	runTogether(t, pods[:2], "value")
	late := pods[2]
	late.RestoreFile, late.RestoreID = "", "a"
	late.finds(t, pods[0])
	joins(t, late)
	wantValue(t, late, "value")
	change(t, pods[0], "after")
	late.etcd.Kill()
	late.Dial = func(context.Context) (API, error) { return nil, errors.New("it needs no other member") }
	if err := late.starts(t); err != nil {
		t.Fatal(err)
	}
	wantValue(t, late, "after")
}

// The member container does not start etcd with data from before the restore.
func TestOlderDataIsNotStarted(t *testing.T) {
	server := serve(t, serving(saved(t, "value")))
	pods := podsOf(t, server)
	runTogether(t, pods, "value")
	sentBack(t, pods, server.URL, etcdbackup.Restore{ID: "a", Revisions: 1_700_000_000_000_000})
	write(t, pods[0].RestoreFile, string(etcdbackup.Restore{ID: "a"}.Encode()))
	pods[0].Dial = func(context.Context) (API, error) { return nil, errNoReadyMember }
	if err := pods[0].starts(t); err == nil {
		t.Error("it starts with its older data")
	}
}

// Two of three members have lost their volumes. The last one has the data, and the others join it.
func TestMembersBeginWithTheDataOfOne(t *testing.T) {
	pods := podsOf(t, serve(t, serving(saved(t, "value"))))
	runTogether(t, pods, "value")
	seen := change(t, pods[0], "later")
	time.Sleep(time.Second) // etcd writes its log to the database ten times each second, and when it is stopped
	sentBack(t, pods, "", etcdbackup.Restore{ID: "a", Member: "etcd-1", Revisions: 1_700_000_000_000_000})
	for i, p := range pods {
		p.fetch.Name = p.Name
		if i != 1 {
			if err := os.RemoveAll(p.Disk.Data); err != nil {
				t.Fatal(err)
			}
		}
	}
	last := pods[1]
	for _, p := range pods {
		p.restores(t)
	}
	pods[0].Dial = func(context.Context) (API, error) { return nil, errNoReadyMember }
	if err := pods[0].starts(t); err == nil || !strings.Contains(err.Error(), "it waits for etcd-1, which has the data") {
		t.Errorf("a member without data: %v", err)
	}
	if err := last.starts(t); err != nil {
		t.Fatal(err)
	}
	wantValue(t, last, "later")
	for _, p := range []*pod{pods[0], pods[2]} {
		p.finds(t, last)
		joins(t, p)
		wantValue(t, p, "later")
	}
	if revision := change(t, pods[2], "after"); revision <= seen {
		t.Errorf("revision %d, and clients have seen %d", revision, seen)
	}
	for _, p := range pods {
		wantValue(t, p, "after")
	}
}

// joins starts a member as often as it takes.
func joins(t *testing.T, p *pod) {
	t.Helper()
	for {
		err := p.starts(t)
		if err == nil {
			return
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
