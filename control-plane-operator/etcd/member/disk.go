package member

import (
	"fmt"
	"os"
	"strings"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/datadir"
)

// A Disk holds the paths of a member's files.
type Disk struct {
	// Data is etcd's data directory, and Restored the directory of an unpacked snapshot. They are on the volume.
	Data, Restored string
	// CommonFile is the configuration that all members share, and ConfigFile the one of this member. StateFile records
	// whether the cluster has been up.
	CommonFile, ConfigFile, StateFile string
}

// Volume holds the paths in a pod.
var Volume = Disk{
	Data: etcd.DataDir, Restored: etcd.RestoredDir,
	CommonFile: "/etc/etcd/common/etcd.yaml", StateFile: "/etc/etcd/common/formed", ConfigFile: "/etc/etcd/config/member.yaml",
}

// HasData is true when etcd has started its log, after the restore if there is one.
func (d Disk) HasData(restore string) (bool, error) { return datadir.Holds(d.Data, restore) }

// Join removes data from before the restore, of which there may be some, for the data of the restored cluster.
func (d Disk) Join(restore string) error {
	if restore == "" {
		return nil
	}
	if err := datadir.Remove(d.Data); err != nil {
		return fmt.Errorf("removing the data from before the restore: %w", err)
	}
	return datadir.MarkJoined(d.Data, restore)
}

// Formed returns whether the cluster has been up before.
func (d Disk) Formed() (bool, error) {
	text, err := os.ReadFile(d.StateFile)
	if err != nil {
		return false, fmt.Errorf("reading whether the cluster has been up before: %w", err)
	}
	return strings.TrimSpace(string(text)) == "true", nil
}

// UseRestored moves the unpacked snapshot to the data directory. It returns false without a snapshot of the restore, or without any if no
// restore is given.
func (d Disk) UseRestored(restore string) (bool, error) {
	if found, err := datadir.HoldsUnpacked(d.Restored, restore); !found || err != nil {
		return false, err
	}
	// A failed start may have left a directory without a log. A restore in place replaces older data.
	if err := os.RemoveAll(d.Data); err != nil {
		return false, fmt.Errorf("making room for the restored data: %w", err)
	}
	if err := os.Rename(d.Restored, d.Data); err != nil {
		return false, fmt.Errorf("putting the restored data in place: %w", err)
	}
	return true, nil
}

// RemoveRestored removes an unpacked snapshot that is no longer needed.
func (d Disk) RemoveRestored() error {
	if err := datadir.Remove(d.Restored); err != nil {
		return fmt.Errorf("removing the unpacked snapshot: %w", err)
	}
	return nil
}

// Common returns the configuration that all members share.
func (d Disk) Common() (string, error) {
	text, err := os.ReadFile(d.CommonFile)
	if err != nil {
		return "", fmt.Errorf("reading the configuration of all members: %w", err)
	}
	return string(text), nil
}

// WriteConfig writes the configuration of this member.
func (d Disk) WriteConfig(text string) error {
	if err := os.WriteFile(d.ConfigFile, []byte(text), 0o644); err != nil { //nolint:gosec // without secrets; etcd may run as another user
		return fmt.Errorf("writing the configuration of the member: %w", err)
	}
	return nil
}
