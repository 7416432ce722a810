package member

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
)

// A peer is a member as the others find it.
type peer struct{ name, url string }

// join makes room for a member without data in a cluster of which a majority
// answers, and returns the cluster as it is then. Interrupted, it goes on where
// it was.
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

// hasRun says whether the member has told the others where clients find it,
// which is the first thing that a member does.
func hasRun(m *etcdserverpb.Member) bool { return len(m.ClientURLs) > 0 }

// initialOf is how the cluster is told to etcd. A member that has not run yet
// has no name there.
func initialOf(members []*etcdserverpb.Member, peers []peer) (string, error) {
	var all []string
	for _, m := range members {
		i := slices.IndexFunc(peers, func(p peer) bool { return slices.Contains(m.PeerURLs, p.url) })
		if i < 0 {
			return "", fmt.Errorf("etcd has member %x %s at %s, which is none of ours", m.ID, m.Name, strings.Join(m.PeerURLs, ", "))
		}
		all = append(all, peers[i].name+"="+peers[i].url)
	}
	slices.Sort(all)
	return strings.Join(all, ","), nil
}
