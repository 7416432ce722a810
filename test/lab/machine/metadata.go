package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
)

var (
	// instanceMetadata are the addresses of the instance metadata service.
	instanceMetadata = []string{"169.254.169.254/32", "fd00:ec2::254/128"}
	// containerCredentials are the addresses from which containers of ECS and pods of EKS get the credentials of a role.
	containerCredentials = []string{"169.254.170.2/32", "169.254.170.23/32", "fd00:ec2::23/128"}
)

// metadataAddresses are the addresses that the machine serves. That of customers' instances is served by their VPC.
func (s Spec) metadataAddresses() []*netlink.Addr {
	var texts []string
	if s.NetworkPolicies {
		texts = slices.Concat(instanceMetadata, containerCredentials)
	}
	var all []*netlink.Addr
	for _, text := range texts {
		ip, network, err := net.ParseCIDR(text)
		if err != nil {
			panic(err) // constants above
		}
		all = append(all, &netlink.Addr{IPNet: &net.IPNet{IP: ip, Mask: network.Mask}})
	}
	return all
}

// serveNodeMetadata serves metadata on a node of the management cluster, where the hop limit admits pods: only a
// NetworkPolicy keeps them from the role of the node.
func (a *agent) serveNodeMetadata(ctx context.Context) error {
	if !a.NetworkPolicies {
		return nil
	}
	if err := serve(ctx, a.nodeMetadata(), instanceMetadata); err != nil {
		return err
	}
	return serve(ctx, roleCredentials(), containerCredentials)
}

// serve serves port 80 of addresses.
func serve(ctx context.Context, handler http.Handler, addresses []string) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	for _, address := range addresses {
		ip, _, _ := strings.Cut(address, "/")
		listener, err := net.Listen("tcp", net.JoinHostPort(ip, "80"))
		if err != nil {
			return fmt.Errorf("serving metadata: %w", err)
		}
		go func() { _ = server.Serve(listener) }() // until it is closed
	}
	return nil
}

const (
	tokenHeader = "X-aws-ec2-metadata-token"
	token       = "token-of-the-lab"
)

// NodeRole is the role of a node of the management cluster. Only the node may get its credentials.
const NodeRole = "management-node"

func (a *agent) nodeMetadata() http.Handler {
	const credentials = "iam/security-credentials/"
	answers := map[string]string{
		"local-hostname":       a.Name,
		"local-ipv4":           a.host(),
		credentials:            NodeRole,
		credentials + NodeRole: nodeCredentials(),
		"placement/region":     a.Labels["topology.kubernetes.io/region"],
		"iam/info":             fmt.Sprintf(`{"Code": "Success", "InstanceProfileArn": "arn:aws:iam::000000000000:instance-profile/%s"}`, NodeRole),
	}
	if a.ProviderID != "" {
		answers["instance-id"], answers["placement/availability-zone"] = path.Base(a.ProviderID), path.Base(path.Dir(a.ProviderID))
	}
	return metadataServer(answers)
}

// metadataServer serves the items below /latest/meta-data/.
func metadataServer(answers map[string]string) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /latest/api/token", func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get(tokenHeader+"-ttl-seconds") == "" {
			http.Error(w, "the lifetime of the token is missing", http.StatusBadRequest)
			return
		}
		fmt.Fprint(w, token)
	})
	mux.HandleFunc("GET /latest/", withToken(func(w http.ResponseWriter, req *http.Request) {
		answer, known := answers[strings.TrimPrefix(req.URL.Path, "/latest/meta-data/")]
		if !known {
			http.NotFound(w, req)
			return
		}
		fmt.Fprint(w, answer)
	}))
	return mux
}

// withToken requires a token, as version 2 does.
func withToken(handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get(tokenHeader) != token {
			http.Error(w, "a token is required", http.StatusUnauthorized)
			return
		}
		handle(w, req)
	}
}

// roleCredentials serves credentials like the endpoints of ECS and of EKS Pod Identity.
func roleCredentials() http.Handler {
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, nodeCredentials()) }
	mux.HandleFunc("GET /v1/credentials", answer)
	mux.HandleFunc("GET /v2/credentials/", answer)
	return mux
}

// nodeCredentials are useless credentials. A caller that gets them has passed the network policies.
func nodeCredentials() string {
	text, err := json.Marshal(map[string]string{
		"Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": "ASIALABNODEIDENTITY0", "SecretAccessKey": "of-the-node", "Token": "of-the-node",
		"Expiration": time.Now().Add(time.Hour).UTC().Format(time.RFC3339), "LastUpdated": time.Now().UTC().Format(time.RFC3339),
	})
	if err != nil {
		panic(err) // they are strings
	}
	return string(text)
}

// userData is what the instance was started with.
func (a *agent) userData() ([]byte, error) {
	text, err := os.ReadFile(a.path(UserData))
	if err != nil {
		return nil, fmt.Errorf("reading the user data: %w", err)
	}
	return text, nil
}
