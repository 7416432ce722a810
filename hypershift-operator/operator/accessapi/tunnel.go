package accessapi

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/portforward"
)

const (
	dialTimeout = 10 * time.Second
	// maxTunnelAge limits how long a connection outlives a permission that its user has lost.
	maxTunnelAge = 12 * time.Hour
	// maxTunnels limits the open tunnels of a replica, and maxTunnelsOfCluster those to one cluster, so that a tenant leaves room for others.
	maxTunnels, maxTunnelsOfCluster = 512, 64
	// apiPort is the port of the Service of the hosted API server.
	apiPort = 6443
)

// tunnelLimits counts the open tunnels.
type tunnelLimits struct {
	mu   sync.Mutex
	all  int
	each map[client.ObjectKey]int
}

func newTunnelLimits() *tunnelLimits { return &tunnelLimits{each: map[client.ObjectKey]int{}} }

// acquire returns false if there are too many.
func (l *tunnelLimits) acquire(cluster client.ObjectKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= maxTunnels || l.each[cluster] >= maxTunnelsOfCluster {
		return false
	}
	l.all++
	l.each[cluster]++
	return true
}

func (l *tunnelLimits) release(cluster client.ObjectKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.each[cluster]--; l.each[cluster] == 0 {
		delete(l.each, cluster)
	}
}

// openTunnel forwards a WebSocket to the API server of the hosted cluster, which authenticates the user by itself.
func (s *Server) openTunnel(w http.ResponseWriter, r *request) error {
	key := client.ObjectKeyFromObject(r.cluster)
	if !s.tunnels.acquire(key) {
		return apierrors.NewTooManyRequests(fmt.Sprintf("there are too many tunnels: at most %d to one cluster", maxTunnelsOfCluster), 5)
	}
	defer s.tunnels.release(key)
	ctx, cancel := context.WithTimeout(r.Context(), maxTunnelAge)
	defer cancel()
	remote, err := s.dialAPI(ctx, r)
	if err != nil {
		return err
	}
	defer remote.Close()
	log := ctrl.LoggerFrom(ctx).V(1).WithValues("hostedCluster", key.String(), "user", r.user.Username)
	log.Info("Opened a tunnel")
	portforward.Accept(w, r.Request, apiPort, func(local net.Conn) {
		if err := portforward.Join(ctx, local, remote); err != nil {
			log.Info("A tunnel has broken", "cause", err.Error())
		}
	})
	return nil
}

// dialAPI connects to the Service of the hosted API server.
func (s *Server) dialAPI(ctx context.Context, r *request) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	service := &corev1.Service{}
	if err := s.Reader.Get(ctx, client.ObjectKey{Namespace: plane(r), Name: names.KubeAPIServer}, service); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the Service of the API server: %w", err)
	}
	if service.Spec.ClusterIP == "" || service.Spec.ClusterIP == corev1.ClusterIPNone {
		return nil, unavailable(fmt.Errorf("the API server of HostedCluster %s has no Service yet", client.ObjectKeyFromObject(r.cluster)))
	}
	conn, err := s.Dial(ctx, "tcp", net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(apiPort)))
	if err != nil {
		return nil, unavailable(fmt.Errorf("the API server of HostedCluster %s does not answer: %w", client.ObjectKeyFromObject(r.cluster), err))
	}
	return conn, nil
}
