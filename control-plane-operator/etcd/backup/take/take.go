// Package take takes the snapshot of a backup.
//
//	revision, hash, keys of a member ─► snapshot of this member ─► was the member compacted meanwhile? ─► no: facts
//	            ▲                                                        │
//	            └────────── yes: the hash is of other keys ──────────────┘
package take

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-logr/logr"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/backup"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/snapshot"
	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
)

// Command is the name of the subcommand.
const Command = "etcd-backup-take"

// maxCompactions is how often a snapshot is taken again. The API server compacts etcd every five minutes.
const maxCompactions = 5

// latest is the latest revision. For the revision of a compaction, etcd would return the hash of the data before it.
const latest = 0

// API is the part of etcd's API that a backup uses.
type API interface {
	Status(ctx context.Context, endpoint string) (*clientv3.StatusResponse, error)
	HashKV(ctx context.Context, endpoint string, rev int64) (*clientv3.HashKVResponse, error)
	Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error)
	Snapshot(context.Context) (io.ReadCloser, error)
	io.Closer
}

// A Taker takes the snapshot.
type Taker struct {
	// Endpoints are the URLs of the members.
	Endpoints []string
	// Dir is the work directory.
	Dir string
	// Sidecar is the program that is copied to it.
	Sidecar string
	// Connect returns a client of one member.
	Connect func(endpoint string) (API, error)
}

// Run reads the arguments after the name of the subcommand, and takes the snapshot.
func Run(ctx context.Context, args []string) error {
	t, err := Parse(args)
	if err != nil {
		return err
	}
	return t.Run(ctx)
}

// Parse reads the arguments after the name of the subcommand.
func Parse(args []string) (*Taker, error) {
	t := &Taker{Connect: connect}
	fs := flag.NewFlagSet(Command, flag.ContinueOnError)
	endpoints := fs.String("endpoints", "", "URLs of the members of etcd, separated by commas")
	fs.StringVar(&t.Dir, "dir", etcdbackup.WorkDir, "directory of the snapshot")
	fs.StringVar(&t.Sidecar, "sidecar", "/usr/bin/sidecar", "program that is copied to the directory")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if *endpoints == "" {
		return nil, errors.New("--endpoints is needed")
	}
	t.Endpoints = strings.Split(*endpoints, ",")
	return t, nil
}

func connect(endpoint string) (API, error) {
	identity, err := etcd.IdentityIn(etcdbackup.ClientCertificateDir)
	if err != nil {
		return nil, err
	}
	return etcd.Connect([]string{endpoint}, identity)
}

// Run takes the snapshot.
func (t *Taker) Run(ctx context.Context) error {
	if err := t.copySidecar(); err != nil {
		return err
	}
	endpoint, err := t.member(ctx)
	if err != nil {
		return err
	}
	api, err := t.Connect(endpoint)
	if err != nil {
		return err
	}
	defer api.Close()
	for range maxCompactions {
		facts, same, err := t.take(ctx, api, endpoint)
		if err != nil {
			return err
		}
		if same {
			logr.FromContextOrDiscard(ctx).Info("Took a snapshot", "member", endpoint, "facts", facts)
			return backup.WriteFacts(t.Dir, facts)
		}
	}
	return fmt.Errorf("etcd was compacted while each of %d snapshots was taken: compact it less often", maxCompactions)
}

func (t *Taker) copySidecar() error {
	program, err := os.ReadFile(t.Sidecar)
	if err != nil {
		return fmt.Errorf("reading the sidecar: %w", err)
	}
	if err := os.WriteFile(t.Dir+"/sidecar", program, 0o755); err != nil { //nolint:gosec // the next container runs it, and may run as another user
		return fmt.Errorf("copying the sidecar: %w", err)
	}
	return nil
}

// member returns the URL of a member that can serve the snapshot: rather one that is not the leader.
func (t *Taker) member(ctx context.Context) (string, error) {
	var leader string
	var errs []error
	for _, endpoint := range t.Endpoints {
		leads, err := t.leads(ctx, endpoint)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", endpoint, err))
		case !leads:
			return endpoint, nil
		default:
			leader = endpoint
		}
	}
	if leader == "" {
		return "", fmt.Errorf("no member of etcd can serve a snapshot: %w", errors.Join(errs...))
	}
	return leader, nil
}

func (t *Taker) leads(ctx context.Context, endpoint string) (bool, error) {
	api, err := t.Connect(endpoint)
	if err != nil {
		return false, err
	}
	defer api.Close()
	status, err := api.Status(ctx, endpoint)
	switch {
	case err != nil:
		return false, err
	case status.IsLearner:
		return false, errors.New("it is a learner")
	case status.Leader == 0:
		return false, errors.New("it has no leader")
	}
	return status.Header.MemberId == status.Leader, nil
}

// take takes one snapshot. same is false if the hash of its revision cannot be compared, because the member was compacted meanwhile.
func (t *Taker) take(ctx context.Context, api API, endpoint string) (facts etcdbackup.Facts, same bool, err error) {
	if facts, err = t.facts(ctx, api, endpoint); err != nil {
		return facts, false, err
	}
	file, err := os.Create(backup.Snapshot(t.Dir))
	if err != nil {
		return facts, false, fmt.Errorf("writing the snapshot: %w", err)
	}
	defer file.Close()
	if facts.SHA256, err = snapshot.Save(ctx, api, file); err != nil {
		return facts, false, err
	}
	info, err := file.Stat()
	if err := errors.Join(err, file.Sync(), file.Close(), os.Chmod(file.Name(), 0o644)); err != nil { //nolint:gosec // the next container reads it, and may run as another user
		return facts, false, fmt.Errorf("writing the snapshot: %w", err)
	}
	facts.SizeBytes = info.Size()
	again, err := api.HashKV(ctx, endpoint, latest)
	if err != nil {
		return facts, false, fmt.Errorf("reading the hash of etcd: %w", err)
	}
	return facts, again.CompactRevision == facts.CompactRevision, nil
}

func (t *Taker) facts(ctx context.Context, api API, endpoint string) (etcdbackup.Facts, error) {
	status, err := api.Status(ctx, endpoint)
	if err != nil {
		return etcdbackup.Facts{}, fmt.Errorf("reading the status of etcd: %w", err)
	}
	hash, err := api.HashKV(ctx, endpoint, latest)
	if err != nil {
		return etcdbackup.Facts{}, fmt.Errorf("reading the hash of etcd: %w", err)
	}
	f := etcdbackup.Facts{Version: status.Version, Revision: hash.HashRevision, Hash: hash.Hash, CompactRevision: hash.CompactRevision}
	keys, err := api.Get(ctx, "", clientv3.WithPrefix(), clientv3.WithCountOnly(), clientv3.WithRev(f.Revision), clientv3.WithSerializable())
	if err != nil {
		return etcdbackup.Facts{}, fmt.Errorf("counting the keys of etcd: %w", err)
	}
	f.Keys = keys.Count
	return f, nil
}
