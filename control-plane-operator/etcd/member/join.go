package member

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
)

// A peer is the name and the peer URL of a member.
type peer struct{ name, url string }

// join adds a member without data to a cluster of which a majority responds, and returns the resulting initial-cluster
// setting. It is idempotent, so it continues after an interruption.
func join(ctx context.Context, api API, self peer, peers []peer) (initial string, err error) {
	log := logr.FromContextOrDiscard(ctx)
	list, err := api.MemberList(ctx)
	if err != nil {
		return "", fmt.Errorf("listing the members of etcd: %w", err)
	}
	members := list.Members
	if mine := find(members, self); mine != nil && hasRun(mine) {
		log.Info("Removing the member that has lost its data", "member", self.name)
		removed, err := api.MemberRemove(ctx, mine.ID)
		if err != nil {
			return "", fmt.Errorf("removing member %s, which has lost its data: %w", self.name, err)
		}
		members = removed.Members
	}
	if find(members, self) == nil {
		log.Info("Adding the member", "member", self.name)
		added, err := api.MemberAdd(ctx, []string{self.url})
		if err != nil {
			return "", fmt.Errorf("adding member %s: %w", self.name, err)
		}
		members = added.Members
	}
	return initialOf(members, peers)
}

func find(members []*etcdserverpb.Member, self peer) *etcdserverpb.Member {
	i := slices.IndexFunc(members, func(m *etcdserverpb.Member) bool { return slices.Contains(m.PeerURLs, self.url) })
	if i < 0 {
		return nil
	}
	return members[i]
}

// hasRun returns whether the member has published its client URLs. A member publishes them when it starts.
func hasRun(m *etcdserverpb.Member) bool { return len(m.ClientURLs) > 0 }

// initialOf returns the initial-cluster setting for members. A member that has not started yet has no name in etcd.
func initialOf(members []*etcdserverpb.Member, peers []peer) (string, error) {
	var all []string
	for _, m := range members {
		i := slices.IndexFunc(peers, func(p peer) bool { return slices.Contains(m.PeerURLs, p.url) })
		if i < 0 {
			return "", fmt.Errorf("etcd has member %x %s at %s, which is not a member of this control plane", m.ID, m.Name, strings.Join(m.PeerURLs, ", "))
		}
		all = append(all, peers[i].name+"="+peers[i].url)
	}
	slices.Sort(all)
	return strings.Join(all, ","), nil
}
