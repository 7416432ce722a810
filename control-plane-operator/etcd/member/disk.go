package member

import (
	"fmt"
	"os"
	"strings"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/datadir"
)

// A Disk is where the files of a member are.
type Disk struct {
	// Data is what etcd keeps, and Restored a snapshot as etcdutl unpacks it. They
	// are on the volume.
	Data, Restored string
	// CommonFile is the configuration that all members share, ConfigFile that of
	// this one, and StateFile whether the cluster has been up.
	CommonFile, ConfigFile, StateFile string
}

// Volume is the disk of a pod.
var Volume = Disk{
	Data: etcd.DataDir, Restored: etcd.RestoredDir,
	CommonFile: "/etc/etcd/common/etcd.yaml", StateFile: "/etc/etcd/common/formed", ConfigFile: "/etc/etcd/config/member.yaml",
}

// HasData is true when etcd has begun its log.
func (d Disk) HasData() (bool, error) { return datadir.HasLog(d.Data) }

// Formed says whether the cluster has been up once.
func (d Disk) Formed() (bool, error) {
	text, err := os.ReadFile(d.StateFile)
	if err != nil {
		return false, fmt.Errorf("finding out whether the cluster has been up before: %w", err)
	}
	return strings.TrimSpace(string(text)) == "true", nil
}

// UseRestored puts the unpacked snapshot in the place of the data, and returns
// false if none was unpacked.
func (d Disk) UseRestored() (bool, error) {
	if found, err := datadir.HasLog(d.Restored); !found || err != nil {
		return false, err
	}
	// A directory without a log may be left of an attempt to start.
	if err := os.RemoveAll(d.Data); err != nil {
		return false, fmt.Errorf("making room for the restored data: %w", err)
	}
	if err := os.Rename(d.Restored, d.Data); err != nil {
		return false, fmt.Errorf("putting the restored data in place: %w", err)
	}
	return true, nil
}

// RemoveRestored removes an unpacked snapshot that is of no more use.
func (d Disk) RemoveRestored() error {
	if err := datadir.Remove(d.Restored); err != nil {
		return fmt.Errorf("removing the unpacked snapshot: %w", err)
	}
	return nil
}

// Common is the configuration that all members share.
func (d Disk) Common() (string, error) {
	text, err := os.ReadFile(d.CommonFile)
	if err != nil {
		return "", fmt.Errorf("reading the configuration of all members: %w", err)
	}
	return string(text), nil
}

// WriteConfig writes the configuration of this member.
func (d Disk) WriteConfig(text string) error {
	if err := os.WriteFile(d.ConfigFile, []byte(text), 0o644); err != nil {
		return fmt.Errorf("writing the configuration of the member: %w", err)
	}
	return nil
}
