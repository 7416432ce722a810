package etcd

import "fmt"

// Where the files of a member are.
const (
	// DataDir is where etcd keeps its data.
	DataDir = "/var/lib/etcd/data"
	// RestoredDir is where a snapshot is unpacked to.
	RestoredDir = "/var/lib/etcd/restored"
	// SnapshotFile is the snapshot, as it was fetched: not on the volume, which
	// need not hold it twice. Its checksum is beside it.
	SnapshotFile = "/var/lib/snapshot/snapshot.db"
	ChecksumFile = SnapshotFile + ".sha256"
)

// NobodyToJoin are words of a member that has no data, and a cluster that has been up without it.
const NobodyToJoin = "has no majority that it could join"

// A State is what etcd is told of the cluster that a member without data belongs to.
type State string

const (
	// NewCluster begins one, together with the other members.
	NewCluster State = "new"
	// ExistingCluster joins one, which has made room for the member before.
	ExistingCluster State = "existing"
)

// MemberConfig is the configuration file of one member: what all have in
// common, and what is its own. initial is the cluster as Initial returns it.
// etcd looks at the last three lines only as long as it has no data.
func (c Cluster) MemberConfig(common, member, initial string, state State) string {
	return common + fmt.Sprintf(`name: %s
advertise-client-urls: %s
initial-advertise-peer-urls: %s
initial-cluster: %s
initial-cluster-state: %s
initial-cluster-token: %s
`, member, c.ClientURL(member), c.PeerURL(member), initial, state, c.Namespace)
}
