// Package unpack runs etcdutl on the snapshot that a member begins with. It runs in etcd's image, which has etcdutl but
// no shell.
//
//	data or an unpacked snapshot on the volume ─► nothing to do
//	else: snapshot.db ─► etcdutl ─► restored.part ─► restored
//
// The cluster token contains the checksum of the snapshot, and the cluster ID depends on the token. So etcd rejects a
// member that was unpacked from another snapshot, or that begins without data.
package unpack

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/go-logr/logr"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/datadir"
)

// Command is the name of the subcommand.
const Command = "etcd-unpack"

// An Unpacker unpacks a snapshot.
type Unpacker struct {
	// Data is etcd's data directory, and Restored the directory of the unpacked snapshot.
	Data, Restored string
	// ChecksumFile contains the snapshot's SHA-256 checksum.
	ChecksumFile string
	// Token is the prefix of the cluster token.
	Token string
	// Program is etcdutl with its arguments, without the directory and the token.
	Program []string
}

// Parse reads the arguments after the name of the subcommand.
func Parse(args []string) (*Unpacker, error) {
	u := &Unpacker{}
	fs := flag.NewFlagSet(Command, flag.ContinueOnError)
	fs.StringVar(&u.Data, "data", "", "data directory of etcd")
	fs.StringVar(&u.Restored, "restored", "", "directory that the snapshot is unpacked to")
	fs.StringVar(&u.ChecksumFile, "checksum-file", "", "file with the SHA-256 checksum of the snapshot")
	fs.StringVar(&u.Token, "token", "", "prefix of the cluster token")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	u.Program = fs.Args()
	if u.Data == "" || u.Restored == "" || u.ChecksumFile == "" || u.Token == "" || len(u.Program) == 0 {
		return nil, errors.New("--data, --restored, --checksum-file, --token and a command are needed")
	}
	return u, nil
}

// Run unpacks the snapshot, unless there is data that it would replace.
func (u *Unpacker) Run(ctx context.Context) error {
	log := logr.FromContextOrDiscard(ctx)
	for _, dir := range []string{u.Data, u.Restored} {
		if found, err := datadir.HasLog(dir); found || err != nil {
			log.Info("The snapshot is not unpacked", "found", dir)
			return err
		}
	}
	checksum, err := os.ReadFile(u.ChecksumFile)
	if err != nil {
		return fmt.Errorf("reading the checksum of the snapshot: %w", err)
	}
	// etcdutl rejects a directory that an interrupted attempt has left.
	part := u.Restored + ".part"
	for _, dir := range []string{part, u.Restored} {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("removing an interrupted restore: %w", err)
		}
	}
	args := append(u.Program[1:len(u.Program):len(u.Program)], "--data-dir="+part, "--initial-cluster-token="+u.Token+"-"+strings.TrimSpace(string(checksum)))
	cmd := exec.CommandContext(ctx, u.Program[0], args...) //nolint:gosec // the command line of our own container
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("unpacking the snapshot: %w", err)
	}
	if err := os.Rename(part, u.Restored); err != nil {
		return fmt.Errorf("putting the unpacked snapshot in place: %w", err)
	}
	return nil
}
