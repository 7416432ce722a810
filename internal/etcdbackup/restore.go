package etcdbackup

import (
	"encoding/json"
	"fmt"
	"os"
)

// RestoreSecret is the Secret with the Restore of a control plane, in the key RestoreKey.
const (
	RestoreSecret = "etcd-restore"
	RestoreKey    = "restore.json"
)

// A Restore is what the members of etcd begin with, instead of the data on their volumes. Its file in a pod has no URL.
type Restore struct {
	// ID is the UID of the EtcdRestore. A member that has data of this restore keeps it.
	ID string `json:"id"`
	// Member is the member whose data all begin with, instead of a snapshot. The others join it.
	Member string `json:"member,omitempty"`
	// ReplaceVolumes deletes the volumes of all members but Member first.
	ReplaceVolumes bool `json:"replaceVolumes,omitempty"`
	// URL is the presigned URL of the snapshot, with #sha256=… .
	URL string `json:"url,omitempty"`
	// Revisions is added to the revision of the snapshot. The result is above all revisions that clients have seen.
	Revisions uint64 `json:"revisions"`
}

// Encode returns the content of the Secret or of a file.
func (r Restore) Encode() []byte {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // it has numbers and strings only
	}
	return text
}

// ReadRestore reads a Restore from a file. Without the name of a file it is empty.
func ReadRestore(file string) (Restore, error) {
	var r Restore
	if file == "" {
		return r, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return r, fmt.Errorf("reading the restore: %w", err)
	}
	return DecodeRestore(text)
}

// DecodeRestore reads the content of the Secret or of a file.
func DecodeRestore(text []byte) (r Restore, err error) {
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("reading the restore in %s: %w", RestoreKey, err)
	}
	if r.ID == "" {
		return r, fmt.Errorf("the restore in %s has no ID", RestoreKey)
	}
	return r, nil
}
