// Package etcdbackup defines what the pod of a backup and the hypershift-operator tell each other, and what the members of a restored etcd read.
//
//	hypershift-operator ─► Secret: Uploads ─► pod: take ─► verify ─► upload ─► termination message: Facts ─► hypershift-operator
//	hypershift-operator ─► Secret: Restore ─► members: fetch ─► restore ─► member
package etcdbackup

import (
	"encoding/json"
	"fmt"
	"strings"
)

// ObjectKey returns the key of the object of a backup in its bucket. Each cluster has a prefix of its own.
func ObjectKey(prefix, infraID, name string) string {
	return strings.TrimPrefix(fmt.Sprintf("%s/%s/%s.db", strings.Trim(prefix, "/"), infraID, name), "/")
}

// App is the value of the label app of the pod of a backup. Only a few apps may connect to etcd.
const App = "etcd-backup"

// The containers of the pod, in their order. The first two are init containers.
const (
	TakeContainer   = "take"
	VerifyContainer = "verify"
	UploadContainer = "upload"
)

// Directories and files of the pod.
const (
	// WorkDir has the snapshot, the facts and the sidecar.
	WorkDir = "/var/lib/backup"
	// Sidecar is the program that verifies the snapshot. The image of etcd has no other program of ours.
	Sidecar = WorkDir + "/sidecar"
	// UploadsDir has the Secret with the key UploadsKey.
	UploadsDir = "/etc/etcd-backup"
	UploadsKey = "uploads.json"
	// ClientCertificateDir has the client certificate for etcd.
	ClientCertificateDir = "/etc/etcd/tls/client"
)

// Uploads are presigned URLs for the parts of a snapshot.
type Uploads struct {
	// PartBytes is the size of each part but the last.
	PartBytes int64    `json:"partBytes"`
	URLs      []string `json:"urls"`
}

// Facts describe a snapshot: first those of the etcd that it was taken from, which are then compared with an etcd that was started from it.
type Facts struct {
	SizeBytes int64  `json:"sizeBytes"`
	SHA256    string `json:"sha256"`
	Version   string `json:"version"`
	// Revision is a revision that the snapshot contains. Keys and Hash are the number of keys at it and etcd's hash of all keys up to it,
	// and CompactRevision is the revision that the hash begins with.
	Revision        int64  `json:"revision"`
	CompactRevision int64  `json:"compactRevision"`
	Keys            int64  `json:"keys"`
	Hash            uint32 `json:"hash"`
	// Verified is true if an etcd that was started from the snapshot has the same Keys and Hash.
	Verified bool `json:"verified"`
}

// Encode returns the facts as text, such as for a termination message.
func (f Facts) Encode() []byte {
	text, err := json.Marshal(f)
	if err != nil {
		panic(err) // it has numbers and strings only
	}
	return text
}

// Decode reads the text of facts.
func Decode(text []byte) (Facts, error) {
	var f Facts
	if err := json.Unmarshal(text, &f); err != nil {
		return Facts{}, fmt.Errorf("reading the facts of a snapshot: %w", err)
	}
	return f, nil
}
