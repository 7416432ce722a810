package defragmentation

import (
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const mib = 1 << 20

// of returns a member with the size and the used size of its database in MiB. Member 1 is the leader.
func of(id uint64, total, used int64) *clientv3.StatusResponse {
	return &clientv3.StatusResponse{
		Header: &etcdserverpb.ResponseHeader{MemberId: id}, Leader: 1,
		DbSize: total * mib, DbSizeInUse: used * mib, DbSizeQuota: 1000 * mib,
	}
}

func TestNextMemberToDefragment(t *testing.T) {
	for name, c := range map[string]struct {
		members []*clientv3.StatusResponse
		full    bool
		want    uint64 // 0 for none
	}{
		"none has holes":                                       {members: []*clientv3.StatusResponse{of(1, 300, 290), of(2, 300, 290)}},
		"little is to be gained":                               {members: []*clientv3.StatusResponse{of(1, 100, 10)}},
		"the share of the holes is small":                      {members: []*clientv3.StatusResponse{of(1, 900, 600)}},
		"the only one is its own leader":                       {members: []*clientv3.StatusResponse{of(1, 400, 100)}, want: 1},
		"a follower comes before the leader":                   {members: []*clientv3.StatusResponse{of(1, 400, 100), of(2, 400, 100), of(3, 400, 100)}, want: 2},
		"the leader comes when the others are done":            {members: []*clientv3.StatusResponse{of(1, 400, 100), of(2, 110, 100), of(3, 110, 100)}, want: 1},
		"what is full is copied for little":                    {members: []*clientv3.StatusResponse{of(1, 1000, 990)}, full: true, want: 1},
		"what is full of what is in use is not":                {members: []*clientv3.StatusResponse{of(1, 1000, 1000)}, full: true},
		"a member with room is not, because another is full":   {members: []*clientv3.StatusResponse{of(1, 100, 90), of(2, 1000, 990)}, full: true, want: 2},
		"what is full and has no holes does not hide the next": {members: []*clientv3.StatusResponse{of(1, 1000, 1000), of(2, 400, 100)}, full: true, want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			var members []member
			for _, s := range c.members {
				members = append(members, member{StatusResponse: s})
			}
			got, ok := next(members, c.full)
			switch {
			case !ok && c.want != 0:
				t.Errorf("none is copied, want %d", c.want)
			case ok && got.Header.MemberId != c.want:
				t.Errorf("%d is copied, want %d", got.Header.MemberId, c.want)
			}
		})
	}
}
