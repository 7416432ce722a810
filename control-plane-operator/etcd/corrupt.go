package etcd

import (
	"context"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Alarms is the part of etcd's API that reports alarms.
type Alarms interface {
	AlarmList(context.Context) (*clientv3.AlarmResponse, error)
	MemberList(context.Context, ...clientv3.OpOption) (*clientv3.MemberListResponse, error)
}

// CorruptMembers returns the names of the members with data that differs from the others. etcd serves no reads
// and writes while there is one.
func CorruptMembers(ctx context.Context, api Alarms) ([]string, error) {
	alarms, err := api.AlarmList(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing the alarms of etcd: %w", err)
	}
	corrupt := map[uint64]bool{}
	for _, a := range alarms.Alarms {
		if a.Alarm == etcdserverpb.AlarmType_CORRUPT {
			corrupt[a.MemberID] = true
		}
	}
	if len(corrupt) == 0 {
		return nil, nil
	}
	list, err := api.MemberList(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing the members of etcd: %w", err)
	}
	var found []string
	for _, m := range list.Members {
		if corrupt[m.ID] {
			found = append(found, m.Name)
			delete(corrupt, m.ID)
		}
	}
	for id := range corrupt { // etcd does not always have the name
		found = append(found, fmt.Sprintf("member %x", id))
	}
	slices.Sort(found)
	return found, nil
}
