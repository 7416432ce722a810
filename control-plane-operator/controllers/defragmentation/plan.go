package defragmentation

import (
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// holes is the share of free pages in percent that makes a defragmentation worthwhile, and least the smallest number
	// of free bytes.
	holes = 45
	least = 100 << 20
	// roomy is the highest share of the quota in percent at which the NOSPACE alarm is disarmed.
	roomy = 90
)

// A member is the status of a member.
type member struct {
	name, endpoint string
	*clientv3.StatusResponse
}

func (m member) leads() bool { return m.Leader == m.Header.MemberId }

func (m member) reclaimable() int64 { return m.DbSize - m.DbSizeInUse }

// fragmented returns whether a defragmentation is worthwhile. A database at its quota needs every byte.
func (m member) fragmented(full bool) bool {
	if full && !m.roomy() && m.reclaimable() > 0 {
		return true
	}
	return m.reclaimable() >= least && m.reclaimable()*100 >= m.DbSize*holes
}

// roomy returns whether the database is well below its quota. etcd before 3.6 does not report the quota.
func (m member) roomy() bool { return m.DbSizeQuota == 0 || m.DbSize*100 <= m.DbSizeQuota*roomy }

// agree returns whether all members are voting members and follow the same leader.
func agree(members []member) bool {
	return !slices.ContainsFunc(members, func(m member) bool {
		return m.IsLearner || m.Leader == 0 || m.Leader != members[0].Leader
	})
}

// next returns the member to defragment. Followers are first, because a leader transfers its leadership, which
// interrupts clients. full is true when the NOSPACE alarm is active.
func next(members []member, full bool) (member, bool) {
	var chosen *member
	for i := range members {
		if m := &members[i]; m.fragmented(full) && (chosen == nil || chosen.leads()) {
			chosen = m
		}
	}
	if chosen == nil {
		return member{}, false
	}
	return *chosen, true
}

// hasRoom returns whether no database is close to its quota.
func hasRoom(members []member) bool {
	return !slices.ContainsFunc(members, func(m member) bool { return !m.roomy() })
}
