// Package backup has the programs of the pod of a backup.
//
//	take     a snapshot of a member, with the revision, the hash and the number of keys of that member
//	verify   etcdutl unpacks the snapshot, and a scratch etcd that was started from it is compared with these facts
//	upload   the parts of the snapshot, to presigned URLs
//
// take is a subcommand of the control-plane-operator. verify and upload are subcommands of the sidecar: take copies it to the directory of
// the snapshot, because the image of etcd has none.
package backup

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
)

// Snapshot returns the path of the snapshot in the work directory.
func Snapshot(dir string) string { return filepath.Join(dir, "snapshot.db") }

// Scratch returns the data directory of the scratch etcd in the work directory.
func Scratch(dir string) string { return filepath.Join(dir, "scratch") }

func factsFile(dir string) string { return filepath.Join(dir, "facts.json") }

// ReadFacts reads the facts in the work directory.
func ReadFacts(dir string) (etcdbackup.Facts, error) {
	text, err := os.ReadFile(factsFile(dir))
	if err != nil {
		return etcdbackup.Facts{}, fmt.Errorf("reading the facts of the snapshot: %w", err)
	}
	return etcdbackup.Decode(text)
}

// WriteFacts replaces the facts in the work directory.
func WriteFacts(dir string, facts etcdbackup.Facts) error {
	part := factsFile(dir) + ".part"
	if err := os.WriteFile(part, facts.Encode(), 0o644); err != nil { //nolint:gosec // the next container reads it, and may run as another user
		return fmt.Errorf("writing the facts of the snapshot: %w", err)
	}
	if err := os.Rename(part, factsFile(dir)); err != nil {
		return fmt.Errorf("writing the facts of the snapshot: %w", err)
	}
	return nil
}
