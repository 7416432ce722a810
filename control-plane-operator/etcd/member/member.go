package member

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
)

// Command is the name of the subcommand.
const Command = "etcd-member"

const (
	// retryInterval is the interval between two attempts to join a cluster.
	retryInterval = 2 * time.Second
	// attemptTimeout is the timeout of one attempt.
	attemptTimeout = 10 * time.Second
	// startTimeout is the time after which a waiting member exits with the reason.
	startTimeout = time.Minute
	// dialTimeout is the timeout of a connection to the Service of the members. Most networks refuse connections at once while
	// no member is ready.
	dialTimeout = 2 * time.Second
)

// API is the part of etcd's API that joining a cluster uses.
type API interface {
	MemberList(context.Context, ...clientv3.OpOption) (*clientv3.MemberListResponse, error)
	MemberAdd(ctx context.Context, peerURLs []string) (*clientv3.MemberAddResponse, error)
	MemberRemove(ctx context.Context, id uint64) (*clientv3.MemberRemoveResponse, error)
	io.Closer
}

var (
	// errNoReadyMember means that no member is ready.
	errNoReadyMember = errors.New("no member of etcd is ready")
	// errDataLost means that the data of the member is lost and that no other member can provide it.
	errDataLost = errors.New("it has no data, and its cluster, which has been up before, " + etcd.NoMajorityToJoin + ": restore the other members or their volumes")
	// errNotRestored is returned instead of starting an empty member among restored ones. etcd would accept it, and its
	// reads would be empty.
	errNotRestored = errors.New("its cluster begins with a snapshot, and its volume has no unpacked snapshot: delete its pod to download the snapshot again")
)

// A Member is a member of etcd that is about to start.
type Member struct {
	Name    string
	Cluster etcd.Cluster
	Disk    Disk
	// FromSnapshot is true when the cluster begins with a snapshot.
	FromSnapshot bool
	// RestoreFile, if any, is the file of the restore that the cluster begins with, and RestoreID the ID of the restore that it has begun
	// with. Older data does not count.
	RestoreFile, RestoreID string
	// Dial connects to a ready member, or fails with errNoReadyMember.
	Dial  func(context.Context) (API, error)
	Clock clock.Clock

	peers []peer
}

// Parse reads the arguments after the name of the subcommand.
func Parse(args []string) (*Member, error) {
	m := &Member{Disk: Volume, Clock: clock.RealClock{}}
	fs := flag.NewFlagSet(Command, flag.ContinueOnError)
	fs.StringVar(&m.Name, "name", "", "name of the member, which is the name of its pod")
	fs.StringVar(&m.Cluster.Namespace, "namespace", "", "namespace of the control plane")
	fs.IntVar(&m.Cluster.Size, "size", 0, "number of members")
	fs.BoolVar(&m.FromSnapshot, "from-snapshot", false, "the cluster begins with a snapshot, and no member starts without data")
	fs.StringVar(&m.RestoreFile, "restore-file", "", "file with the restore that the cluster begins with; older data does not count")
	fs.StringVar(&m.RestoreID, "restore-id", "", "ID of the restore that the cluster has begun with; older data does not count")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if m.Name == "" || m.Cluster.Namespace == "" || m.Cluster.Size < 1 {
		return nil, errors.New("--name, --namespace and --size are needed")
	}
	m.Dial, m.peers = dialer(m.Cluster), peersOf(m.Cluster)
	if !slices.ContainsFunc(m.peers, func(p peer) bool { return p.name == m.Name }) {
		return nil, fmt.Errorf("--name is %s: the members are %s", m.Name, strings.Join(m.Cluster.Members(), ", "))
	}
	return m, nil
}

func dialer(cluster etcd.Cluster) func(context.Context) (API, error) {
	return func(ctx context.Context) (API, error) {
		conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", cluster.ServiceAddress())
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errNoReadyMember, err)
		}
		conn.Close()
		identity, err := etcd.IdentityIn("/etc/etcd/tls/client")
		if err != nil {
			return nil, err
		}
		return etcd.Connect([]string{cluster.ServiceURL()}, identity)
	}
}

// Run decides how the member starts and writes its configuration. A member that cannot start for a long time exits with
// the reason: the pod's status contains the last lines of the failed program, and the kubelet restarts it.
func (m *Member) Run(ctx context.Context) error {
	log := logr.FromContextOrDiscard(ctx)
	for started := m.Clock.Now(); ; {
		initial, state, err := m.decide(ctx)
		if err == nil {
			err = m.write(initial, state)
		}
		if err == nil {
			// Not earlier: a member that could not join needs the snapshot to begin with.
			err = m.Disk.RemoveRestored()
		}
		if err == nil {
			return nil
		}
		if m.Clock.Since(started) >= startTimeout {
			return err
		}
		log.Error(err, "The member cannot start yet; trying again", "after", retryInterval)
		timer := m.Clock.NewTimer(retryInterval)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// decide returns the initial-cluster setting and the initial-cluster-state setting of the member.
func (m *Member) decide(ctx context.Context) (initial string, state etcd.State, err error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	restore, err := etcdbackup.ReadRestore(m.RestoreFile)
	if err != nil {
		return "", "", err
	}
	restore.ID = cmp.Or(restore.ID, m.RestoreID)
	if found, err := m.Disk.HasData(restore.ID); found || err != nil {
		return m.initial(), etcd.NewCluster, err
	}
	api, err := m.Dial(ctx)
	if err == nil {
		defer api.Close()
		if initial, err = join(ctx, api, m.self(), m.peers); err == nil {
			err = m.Disk.Join(restore.ID)
		}
		return initial, etcd.ExistingCluster, err
	}
	if !errors.Is(err, errNoReadyMember) {
		return "", "", err
	}
	formed, stateErr := m.Disk.Formed()
	if stateErr != nil {
		return "", "", stateErr
	}
	if formed {
		return "", "", fmt.Errorf("starting %s: %w: %w", m.Name, errDataLost, err)
	}
	restored, err := m.Disk.UseRestored(restore.ID)
	if err == nil && m.FromSnapshot && !restored {
		err = fmt.Errorf("starting %s: %w", m.Name, errNotRestored)
		if restore.Member != "" {
			err = fmt.Errorf("starting %s: it waits for %s, which has the data: %w", m.Name, restore.Member, errNoReadyMember)
		}
	}
	return m.initial(), etcd.NewCluster, err
}

func (m *Member) write(initial string, state etcd.State) error {
	common, err := m.Disk.Common()
	if err != nil {
		return err
	}
	return m.Disk.WriteConfig(m.Cluster.MemberConfig(common, m.Name, initial, state))
}

func (m *Member) self() peer {
	return m.peers[slices.IndexFunc(m.peers, func(p peer) bool { return p.name == m.Name })]
}

// initial returns the initial-cluster setting of a cluster that all members begin together.
func (m *Member) initial() string {
	var all []string
	for _, p := range m.peers {
		all = append(all, p.name+"="+p.url)
	}
	return strings.Join(all, ",")
}

func peersOf(cluster etcd.Cluster) []peer {
	var peers []peer
	for _, name := range cluster.Members() {
		peers = append(peers, peer{name, cluster.PeerURL(name)})
	}
	return peers
}
