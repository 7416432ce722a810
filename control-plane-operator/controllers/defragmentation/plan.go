package defragmentation

import (
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// holes is the share of a database in percent that makes a copy worth while,
	// and least how much there is to gain.
	holes = 45
	least = 100 << 20
	// roomy is how full a database may be, in percent of what it may become, for
	// the alarm about space to be turned off.
	roomy = 90
)

// A member is one as it says itself.
type member struct {
	name, endpoint string
	*clientv3.StatusResponse
}

func (m member) leads() bool { return m.Leader == m.Header.MemberId }

func (m member) reclaimable() int64 { return m.DbSize - m.DbSizeInUse }

// fragmented says whether a copy is worth while. A database that may not grow
// any more wants each byte.
func (m member) fragmented(full bool) bool {
	if full && !m.roomy() && m.reclaimable() > 0 {
		return true
	}
	return m.reclaimable() >= least && m.reclaimable()*100 >= m.DbSize*holes
}

// roomy says whether the database is not close to what it may become. Before
// version 3.6 etcd does not say what that is.
func (m member) roomy() bool { return m.DbSizeQuota == 0 || m.DbSize*100 <= m.DbSizeQuota*roomy }

// agree says whether all are members in full and follow the same leader.
func agree(members []member) bool {
	return !slices.ContainsFunc(members, func(m member) bool {
		return m.IsLearner || m.Leader == 0 || m.Leader != members[0].Leader
	})
}

// next is the member to copy: a follower if any needs it, since the leader hands
// over first, which everybody notices. full says that the alarm about space is on.
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

// hasRoom says whether no database is close to what it may become.
func hasRoom(members []member) bool {
	return !slices.ContainsFunc(members, func(m member) bool { return !m.roomy() })
}
