package vpc

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// Metadata is the metadata of an instance.
type Metadata struct {
	ID, Zone, Type, Image, Hostname string
	UserData                        []byte
	// Role is the role of the instance; empty: it has none.
	Role string
}

// credentialServices are the addresses from which a node of the management VPC gets credentials: the addresses of EC2 for IPv6, of
// ECS and of EKS Pod Identity. On AWS the last two are agents on the node, which would take port 80 from its pods.
var credentialServices = []netip.Addr{
	metadataAddress6, netip.MustParseAddr("169.254.170.2"), netip.MustParseAddr("169.254.170.23"), netip.MustParseAddr("fd00:ec2::23"),
}

// metadataServer is the instance metadata service of one VPC: the answer depends on the address of the client.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html
type metadataServer struct {
	clock    clock.PassiveClock
	instance func(netip.Addr) (awsemulator.NetworkInterface, *Metadata)

	mu     sync.Mutex
	tokens map[string]session
}

// session is the client and the end of a token.
type session struct {
	client  netip.Addr
	expires time.Time
}

func (n *Network) serveMetadata(ctx context.Context, r *Router) error {
	m := &metadataServer{clock: n.o.Clock, tokens: map[string]session{}, instance: func(at netip.Addr) (awsemulator.NetworkInterface, *Metadata) {
		return n.instanceAt(r.ID, at)
	}}
	handlers := map[netip.Addr]http.Handler{metadataAddress: m}
	if r.management {
		for _, address := range credentialServices {
			handlers[address] = http.HandlerFunc(serveRoleCredentials)
		}
		handlers[metadataAddress6] = m
	}
	for address, handler := range handlers {
		listener, err := r.Listen(netip.AddrPortFrom(address, 80))
		if err != nil {
			return fmt.Errorf("serving the metadata of %s: %w", r.ID, err)
		}
		server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
		context.AfterFunc(ctx, func() { _ = server.Close() })
		go func() { _ = server.Serve(listener) }() // until it is closed
	}
	return nil
}

// serveRoleCredentials serves credentials like the endpoints of ECS and of EKS Pod Identity.
func serveRoleCredentials(w http.ResponseWriter, req *http.Request) {
	if req.URL.Path != "/v1/credentials" && !strings.HasPrefix(req.URL.Path, "/v2/credentials/") {
		http.NotFound(w, req)
		return
	}
	fmt.Fprint(w, roleCredentials())
}

// roleCredentials are useless credentials. A caller that gets them has passed the network policies.
func roleCredentials() string {
	text, err := json.Marshal(map[string]string{
		"Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": "ASIALABNODEIDENTITY0", "SecretAccessKey": "of-the-node", "Token": "of-the-node",
		"Expiration": time.Now().Add(time.Hour).UTC().Format(time.RFC3339), "LastUpdated": time.Now().UTC().Format(time.RFC3339),
	})
	if err != nil {
		panic(err) // they are strings
	}
	return string(text)
}

// instanceAt returns the instance with an address in a VPC, or with a pod at that address, or no metadata.
func (n *Network) instanceAt(vpc string, at netip.Addr) (awsemulator.NetworkInterface, *Metadata) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, i := range n.now.Interfaces {
		pod := vpc == n.o.ManagementVPC && slices.ContainsFunc(n.pods[i.Instance], func(p netip.Prefix) bool { return p.Contains(at) })
		if i.VPC == vpc && i.Instance != "" && (i.Address == at || pod) && n.o.Metadata != nil {
			return i, n.o.Metadata(i.Instance)
		}
	}
	return awsemulator.NetworkInterface{}, nil
}

const tokenHeader = "X-aws-ec2-metadata-token"

// maxLifetime is the longest lifetime of a token.
const maxLifetime = 6 * time.Hour

func (m *metadataServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	host, _, _ := net.SplitHostPort(req.RemoteAddr)
	client, _ := netip.ParseAddr(host)
	i, metadata := m.instance(client)
	switch {
	case metadata == nil:
		http.NotFound(w, req)
	case !i.Metadata:
		http.Error(w, "the metadata service of this instance is off", http.StatusForbidden)
	case req.URL.Path == "/latest/api/token":
		m.token(w, req, client)
	case !m.permits(req, client, i.TokensRequired):
		http.Error(w, "a token is required", http.StatusUnauthorized)
	default:
		serve(w, req, i, metadata)
	}
}

func (m *metadataServer) token(w http.ResponseWriter, req *http.Request, client netip.Addr) {
	seconds, err := strconv.Atoi(req.Header.Get(tokenHeader + "-ttl-seconds"))
	lifetime := time.Duration(seconds) * time.Second
	switch {
	case req.Method != http.MethodPut:
		http.Error(w, "a token is made by PUT", http.StatusMethodNotAllowed)
		return
	case err != nil || lifetime <= 0 || lifetime > maxLifetime || req.Header.Get("X-Forwarded-For") != "":
		http.Error(w, "the lifetime of the token is missing or wrong", http.StatusBadRequest)
		return
	}
	token := rand.Text()
	m.mu.Lock()
	defer m.mu.Unlock()
	for old, s := range m.tokens {
		if m.clock.Now().After(s.expires) {
			delete(m.tokens, old)
		}
	}
	m.tokens[token] = session{client, m.clock.Now().Add(lifetime)}
	w.Header().Set(tokenHeader+"-ttl-seconds", strconv.Itoa(seconds))
	fmt.Fprint(w, token)
}

func (m *metadataServer) permits(req *http.Request, client netip.Addr, required bool) bool {
	token := req.Header.Get(tokenHeader)
	if token == "" {
		return !required
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s, known := m.tokens[token]
	return known && s.client == client && m.clock.Now().Before(s.expires)
}
