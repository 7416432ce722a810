// Package unpack runs etcdutl on the snapshot that a member begins with. It runs in etcd's image, which has etcdutl but
// no shell.
//
//	data or an unpacked snapshot on the volume ─► nothing to do
//	else: snapshot.db ─► etcdutl ─► restored.part ─► restored
//
// With a Restore, data counts only if it is of the same restore, which the directory records.
//
// The cluster token contains the checksum of the snapshot, and the cluster ID depends on the token. So etcd rejects a
// member that was unpacked from another snapshot, or that begins without data.
package unpack

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/go-logr/logr"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/datadir"
	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
)

// Command is the name of the subcommand.
const Command = "etcd-unpack"

// An Unpacker unpacks a snapshot.
type Unpacker struct {
	// Data is etcd's data directory, and Restored the directory of the unpacked snapshot.
	Data, Restored string
	// ChecksumFile contains the snapshot's SHA-256 checksum.
	ChecksumFile string
	// RestoreFile, if any, is the file of the restore that the snapshot is of.
	RestoreFile string
	// Token is the prefix of the cluster token.
	Token string
	// Program is etcdutl with its arguments, without the directory and the token.
	Program []string
}

// Parse reads the arguments after the name of the subcommand.
func Parse(args []string) (*Unpacker, error) {
	u := &Unpacker{}
	flags := flag.NewFlagSet(Command, flag.ContinueOnError)
	flags.StringVar(&u.Data, "data", "", "data directory of etcd")
	flags.StringVar(&u.Restored, "restored", "", "directory that the snapshot is unpacked to")
	flags.StringVar(&u.ChecksumFile, "checksum-file", "", "file with the SHA-256 checksum of the snapshot")
	flags.StringVar(&u.RestoreFile, "restore-file", "", "file with the restore that the snapshot is of")
	flags.StringVar(&u.Token, "token", "", "prefix of the cluster token")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	u.Program = flags.Args()
	if u.Data == "" || u.Restored == "" || u.ChecksumFile == "" || u.Token == "" || len(u.Program) == 0 {
		return nil, errors.New("--data, --restored, --checksum-file, --token and a command are needed")
	}
	return u, nil
}

// flag returns the value of a flag of the program.
func (u *Unpacker) flag(prefix string) string {
	for _, arg := range u.Program {
		if value, ok := strings.CutPrefix(arg, prefix); ok {
			return value
		}
	}
	return ""
}

// Run unpacks the snapshot, unless there is data that it would replace.
func (u *Unpacker) Run(ctx context.Context) error {
	log := logr.FromContextOrDiscard(ctx)
	restore, err := etcdbackup.ReadRestore(u.RestoreFile)
	if err != nil {
		return err
	}
	if found, err := datadir.Found(u.Data, u.Restored, restore.ID); found != "" || err != nil {
		log.Info("The snapshot is not unpacked", "found", found)
		return err
	}
	checksum, err := os.ReadFile(u.ChecksumFile)
	if restore.Member != "" && errors.Is(err, fs.ErrNotExist) {
		log.Info("There is no snapshot: the member joins another one", "member", restore.Member)
		return nil
	}
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
	if restore.ID != "" {
		args = append(args, "--bump-revision="+strconv.FormatUint(restore.Revisions, 10))
	}
	if restore.Member != "" {
		// It is the database of a member, which has no checksum at its end. The cluster begins with this member alone.
		args = append(args, "--skip-hash-check", "--initial-cluster="+u.flag("--name=")+"="+u.flag("--initial-advertise-peer-urls="))
	}
	cmd := exec.CommandContext(ctx, u.Program[0], args...) //nolint:gosec // the command line of our own container
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("unpacking the snapshot: %w", err)
	}
	if restore.ID != "" {
		if err := datadir.MarkUnpacked(part, restore.ID); err != nil {
			return err
		}
	}
	if err := os.Rename(part, u.Restored); err != nil {
		return fmt.Errorf("putting the unpacked snapshot in place: %w", err)
	}
	return nil
}
