// Package verify starts a scratch etcd from the snapshot of a backup and compares it with the facts of the etcd that the snapshot was taken
// from. It runs in the image of etcd.
package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/go-logr/logr"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/backup"
	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
)

// Command is the name of the subcommand.
const Command = "etcd-backup-verify"

const (
	// readyTimeout is how long etcd may take to open the data: as long as a member of a cluster.
	readyTimeout = 30 * time.Minute
	pollInterval = 200 * time.Millisecond
	stopTimeout  = 10 * time.Second
)

// A Verifier verifies a snapshot.
type Verifier struct {
	// Dir is the work directory.
	Dir string
	// Etcdutl and Etcd are the programs.
	Etcdutl, Etcd string
	// ClientURL and PeerURL are the addresses of the scratch etcd, on loopback.
	ClientURL, PeerURL string
}

// Parse reads the arguments after the name of the subcommand.
func Parse(args []string) (*Verifier, error) {
	v := &Verifier{}
	fs := flag.NewFlagSet(Command, flag.ContinueOnError)
	fs.StringVar(&v.Dir, "dir", etcdbackup.WorkDir, "directory of the snapshot")
	fs.StringVar(&v.Etcdutl, "etcdutl", "etcdutl", "program that unpacks the snapshot")
	fs.StringVar(&v.Etcd, "etcd", "etcd", "program that serves it")
	fs.StringVar(&v.ClientURL, "client-url", "http://127.0.0.1:23790", "address of the scratch etcd for its client")
	fs.StringVar(&v.PeerURL, "peer-url", "http://127.0.0.1:23800", "address of the scratch etcd for other members, of which it has none")
	return v, fs.Parse(args)
}

// Run verifies the snapshot, and removes the unpacked data.
func (v *Verifier) Run(ctx context.Context) (err error) {
	facts, err := backup.ReadFacts(v.Dir)
	if err != nil {
		return err
	}
	scratch := backup.Scratch(v.Dir)
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	if err := os.RemoveAll(scratch); err != nil {
		return fmt.Errorf("removing the data of an interrupted attempt: %w", err)
	}
	if err := run(ctx, v.Etcdutl, "snapshot", "restore", backup.Snapshot(v.Dir), "--data-dir="+scratch,
		"--name=scratch", "--initial-cluster=scratch="+v.PeerURL, "--initial-advertise-peer-urls="+v.PeerURL); err != nil {
		return fmt.Errorf("unpacking the snapshot: %w", err)
	}
	if err := v.compare(ctx, scratch, facts); err != nil {
		return err
	}
	facts.Verified = true
	logr.FromContextOrDiscard(ctx).Info("The snapshot is good", "facts", facts)
	return backup.WriteFacts(v.Dir, facts)
}

// compare serves the unpacked data while it is compared.
func (v *Verifier) compare(ctx context.Context, scratch string, facts etcdbackup.Facts) error {
	ctx, stop := context.WithTimeout(ctx, readyTimeout)
	defer stop()
	etcd := program(ctx, v.Etcd, "--data-dir="+scratch, "--name=scratch", "--listen-client-urls="+v.ClientURL, "--advertise-client-urls="+v.ClientURL,
		"--listen-peer-urls="+v.PeerURL, "--initial-advertise-peer-urls="+v.PeerURL, "--initial-cluster=scratch="+v.PeerURL, "--log-level=error",
		"--quota-backend-bytes="+strconv.FormatInt(2*facts.SizeBytes+1<<30, 10), "--unsafe-no-fsync")
	if err := etcd.Start(); err != nil {
		return fmt.Errorf("starting the scratch etcd: %w", err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- etcd.Wait()
		stop()
	}()
	err := v.check(ctx, facts)
	select {
	case exit := <-ended:
		return errors.Join(err, fmt.Errorf("the scratch etcd has ended: %w", exit))
	default:
	}
	stop()  // interrupts it, and kills it after stopTimeout
	<-ended //nolint:errcheck // it was stopped
	return err
}

func (v *Verifier) check(ctx context.Context, facts etcdbackup.Facts) error {
	if err := v.ready(ctx); err != nil {
		return err
	}
	var hash struct {
		Hash            uint32 `json:"hash"`
		CompactRevision int64  `json:"compact_revision,string"`
	}
	revision := strconv.FormatInt(facts.Revision, 10)
	if err := v.call(ctx, "/v3/maintenance/hashkv", map[string]any{"revision": revision}, &hash); err != nil {
		return err
	}
	var keys struct {
		Count int64 `json:"count,string"`
	}
	all := "AA==" // one zero byte, as the first key and as the end: all keys
	if err := v.call(ctx, "/v3/kv/range", map[string]any{"key": all, "range_end": all, "count_only": true, "revision": revision, "serializable": true}, &keys); err != nil {
		return err
	}
	if hash.Hash != facts.Hash || keys.Count != facts.Keys || hash.CompactRevision != facts.CompactRevision {
		return fmt.Errorf("the snapshot is not used: at revision %d it has %d keys, the hash %d and the compact revision %d, but etcd had %d, %d and %d",
			facts.Revision, keys.Count, hash.Hash, hash.CompactRevision, facts.Keys, facts.Hash, facts.CompactRevision)
	}
	return nil
}

// ready waits until the scratch etcd serves.
func (v *Verifier) ready(ctx context.Context) error {
	for {
		err := v.get(ctx, "/readyz")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the scratch etcd: %w", err)
		case <-time.After(pollInterval):
		}
	}
}

func (v *Verifier) get(ctx context.Context, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.ClientURL+path, nil)
	if err != nil {
		return err
	}
	return exchange(req, &struct{}{}, false)
}

// call sends a request to etcd's gateway for JSON: https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/
func (v *Verifier) call(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, v.ClientURL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if err := exchange(req, out, true); err != nil {
		return fmt.Errorf("reading %s of the scratch etcd: %w", path, err)
	}
	return nil
}

// direct has no proxy: the scratch etcd is on loopback.
var direct = &http.Client{Transport: &http.Transport{Proxy: nil}}

func exchange(req *http.Request, out any, decode bool) error {
	resp, err := direct.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", resp.Status, text)
	}
	if !decode {
		return nil
	}
	return json.Unmarshal(text, out)
}

func program(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // the programs of our own container
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	return cmd
}

func run(ctx context.Context, name string, args ...string) error {
	return program(ctx, name, args...).Run()
}
