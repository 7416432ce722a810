package member

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
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

// HasData says whether etcd has begun its log, as etcd itself finds out.
func (d Disk) HasData() bool { return hasLog(d.Data) }

func hasLog(dir string) bool {
	logs, _ := filepath.Glob(filepath.Join(dir, "member", "wal", "*.wal")) // the pattern is a good one
	return len(logs) > 0
}

// Formed says whether the cluster has been up once.
func (d Disk) Formed() (bool, error) {
	text, err := os.ReadFile(d.StateFile)
	if err != nil {
		return false, fmt.Errorf("finding out whether the cluster has been up before: %w", err)
	}
	return strings.TrimSpace(string(text)) == "true", nil
}

// UseRestored puts what a snapshot was unpacked to in the place of the data, if
// there is any.
func (d Disk) UseRestored() error {
	if !hasLog(d.Restored) {
		return nil
	}
	// A directory without a log may be left of an attempt to start.
	if err := os.RemoveAll(d.Data); err != nil {
		return fmt.Errorf("making room for the restored data: %w", err)
	}
	if err := os.Rename(d.Restored, d.Data); err != nil {
		return fmt.Errorf("putting the restored data in place: %w", err)
	}
	return nil
}

// CleanUp removes what a restore has left.
func (d Disk) CleanUp() error {
	if err := os.RemoveAll(d.Restored); err != nil {
		return fmt.Errorf("removing what the restore has left: %w", err)
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
