// Package member decides what a member of etcd starts as. It runs before etcd
// does, in the pod of the member.
//
//	it has data                      ─► it starts with that
//	a majority of others answers     ─► it joins them; a member of its name that lost its data makes room
//	the cluster has been up once     ─► it waits for them, and says so: what it would begin would be a second cluster
//	a snapshot has been unpacked     ─► it starts with that, as all of them do
//	the cluster begins with one      ─► it waits: a member without data among restored ones would answer reads with nothing
//	else                             ─► it begins the cluster, together with the others
//
// An unpacked snapshot is removed when the member has joined or has data, and not
// before: a join that fails may be followed by a start with the others.
//
// It is put in for the one that was there as a full member, not as a learner
// first: with one of three gone, both leave room for no other to fail, and a
// learner needs somebody to promote it.
package member
