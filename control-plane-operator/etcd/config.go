package etcd

import (
	"fmt"

	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
)

// Where the files of a member are.
const (
	// DataDir is etcd's data directory.
	DataDir = "/var/lib/etcd/data"
	// RestoredDir is the directory of an unpacked snapshot.
	RestoredDir = "/var/lib/etcd/restored"
	// SnapshotFile is the downloaded snapshot. It is not on the volume, which need not have room for two copies. Its
	// checksum is in ChecksumFile.
	SnapshotFile = "/var/lib/snapshot/snapshot.db"
	ChecksumFile = SnapshotFile + ".sha256"
	// RequestFile is the request to restore a backup, in a mounted Secret, and RestoreFile its copy for the containers that follow,
	// without the URL.
	RequestFile = "/etc/etcd/restore/" + etcdbackup.RestoreKey
	RestoreFile = "/var/lib/snapshot/" + etcdbackup.RestoreKey
)

// NoMajorityToJoin is a part of the message of a member without data in a cluster that has been up before.
const NoMajorityToJoin = "has no majority that it could join"

// A State is etcd's initial-cluster-state setting of a member without data.
type State string

const (
	// NewCluster starts a cluster together with the other members.
	NewCluster State = "new"
	// ExistingCluster joins a cluster that has added the member before.
	ExistingCluster State = "existing"
)

// MemberConfig returns the configuration file of one member: the common part and the member's own settings. initial is a
// cluster as Initial returns it. etcd uses the last three settings only while it has no data.
func (c Cluster) MemberConfig(common, member, initial string, state State) string {
	return common + fmt.Sprintf(`name: %s
advertise-client-urls: %s
initial-advertise-peer-urls: %s
initial-cluster: %s
initial-cluster-state: %s
initial-cluster-token: %s
`, member, c.ClientURL(member), c.PeerURL(member), initial, state, c.Namespace)
}
