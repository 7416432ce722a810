package member

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/go-logr/logr"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
)

// Command is the name of the subcommand.
const Command = "etcd-member"

const (
	// pause is between two attempts to join a cluster.
	pause = 2 * time.Second
	// patience is how long one of them may take.
	patience = 10 * time.Second
	// hope is how long the others may be away before somebody is told.
	hope = time.Minute
	// reach is how long to try to reach the Service of the members. Most networks
	// refuse at once while none is ready.
	reach = 2 * time.Second
)

// API is what joining a cluster takes.
type API interface {
	MemberList(context.Context, ...clientv3.OpOption) (*clientv3.MemberListResponse, error)
	MemberAdd(ctx context.Context, peerURLs []string) (*clientv3.MemberAddResponse, error)
	MemberRemove(ctx context.Context, id uint64) (*clientv3.MemberRemoveResponse, error)
	io.Closer
}

var (
	// errNobody says that no member is ready.
	errNobody = errors.New("no member of etcd is ready")
	// errLost says that the data of the member is gone, and nobody there who has it.
	errLost = errors.New("it has no data, and its cluster, which has been up before, " + etcd.NobodyToJoin + ": bring back the other members, or their volumes")
)

// A Member is about to start.
type Member struct {
	Name    string
	Cluster etcd.Cluster
	Disk    Disk
	// Dial reaches a member that is ready, or fails with errNobody.
	Dial  func(context.Context) (API, error)
	Clock clock.Clock
}

// Parse reads the arguments after the name of the subcommand.
func Parse(args []string) (*Member, error) {
	m := &Member{Disk: Volume, Clock: clock.RealClock{}}
	fs := flag.NewFlagSet(Command, flag.ContinueOnError)
	fs.StringVar(&m.Name, "name", "", "name of the member, which is that of its pod")
	fs.StringVar(&m.Cluster.Namespace, "namespace", "", "namespace of the control plane")
	fs.IntVar(&m.Cluster.Size, "size", 0, "number of members")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if m.Name == "" || m.Cluster.Namespace == "" || m.Cluster.Size < 1 {
		return nil, errors.New("--name, --namespace and --size are needed")
	}
	m.Dial = dialer(m.Cluster)
	return m, nil
}

func dialer(cluster etcd.Cluster) func(context.Context) (API, error) {
	return func(ctx context.Context) (API, error) {
		conn, err := (&net.Dialer{Timeout: reach}).DialContext(ctx, "tcp", cluster.ServiceAddress())
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errNobody, err)
		}
		conn.Close()
		identity, err := etcd.IdentityIn("/etc/etcd/tls/client")
		if err != nil {
			return nil, err
		}
		return etcd.Connect([]string{cluster.ServiceURL()}, identity)
	}
}

// Run writes the configuration of the member once it knows what it starts as. One
// that has lost its data and finds nobody for long ends with that: the status of
// its pod has the last words of a program, and it is started again.
func (m *Member) Run(ctx context.Context) error {
	log := logr.FromContextOrDiscard(ctx)
	for started := m.Clock.Now(); ; {
		initial, state, err := m.decide(ctx)
		if err == nil {
			return m.write(initial, state)
		}
		if errors.Is(err, errLost) && m.Clock.Since(started) >= hope {
			return err
		}
		log.Error(err, "The member cannot start yet; trying again", "after", pause)
		timer := m.Clock.NewTimer(pause)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// decide says which cluster the member belongs to, and whether it is there.
func (m *Member) decide(ctx context.Context) (initial string, state etcd.State, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if m.Disk.HasData() {
		return m.Cluster.Initial(), etcd.NewCluster, m.Disk.CleanUp()
	}
	api, err := m.Dial(ctx)
	if err == nil {
		defer api.Close()
		initial, err = join(ctx, api, m.self(), m.peers())
		return initial, etcd.ExistingCluster, errors.Join(err, m.Disk.CleanUp())
	}
	if !errors.Is(err, errNobody) {
		return "", "", err
	}
	formed, stateErr := m.Disk.Formed()
	if stateErr != nil {
		return "", "", stateErr
	}
	if formed {
		return "", "", fmt.Errorf("starting %s: %w: %w", m.Name, errLost, err)
	}
	return m.Cluster.Initial(), etcd.NewCluster, m.Disk.UseRestored()
}

func (m *Member) write(initial string, state etcd.State) error {
	common, err := m.Disk.Common()
	if err != nil {
		return err
	}
	return m.Disk.WriteConfig(m.Cluster.MemberConfig(common, m.Name, initial, state))
}

func (m *Member) self() peer { return peer{m.Name, m.Cluster.PeerURL(m.Name)} }

func (m *Member) peers() []peer {
	var peers []peer
	for _, name := range m.Cluster.Members() {
		peers = append(peers, peer{name, m.Cluster.PeerURL(name)})
	}
	return peers
}
