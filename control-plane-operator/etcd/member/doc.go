// Package member decides how a member of etcd starts. It runs before etcd, in the pod of the member.
//
//	it has data                      ─► it starts with its data
//	a majority of others responds    ─► it joins them; a member of its name that lost its data is removed first
//	the cluster has been up once     ─► it waits for them and reports it: a new cluster would be a second one
//	a snapshot has been unpacked     ─► it starts with the snapshot, as all of them do
//	the cluster begins with one      ─► it waits: a member without data among restored ones would return empty reads
//	else                             ─► it begins the cluster, together with the others
//
// In a restore in place, data from before the restore does not count, also for a member that starts when the others are up again. It is removed
// when the member has joined or has the unpacked snapshot.
//
// After the loss of a majority, the remaining member begins a cluster of its own with its data, and the others join it.
//
// An unpacked snapshot is removed only after the member has joined or has data. A join may fail, and the member may have
// to start with the others then.
//
// The replacement joins as a full member, not as a learner. While one of three members is missing, neither way tolerates
// another failure, and a learner has to be promoted by another process.
package member
