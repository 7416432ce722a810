package machine

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/vishvananda/netlink"
)

// metadataAddress is where every instance finds out who it is.
var metadataAddress = &netlink.Addr{IPNet: &net.IPNet{IP: net.IPv4(169, 254, 169, 254), Mask: net.CIDRMask(32, 32)}}

// serveMetadata answers as the metadata service of EC2 does, version 2, to everybody on the machine itself: pods have a network of
// their own, and would be one hop too far.
func (a *agent) serveMetadata(ctx context.Context) error {
	listener, err := net.Listen("tcp", net.JoinHostPort(metadataAddress.IP.String(), "80"))
	if err != nil {
		return fmt.Errorf("serving metadata: %w", err)
	}
	server := &http.Server{Handler: a.metadata()}
	go func() { _ = server.Serve(listener) }() // until it is closed
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return nil
}

const (
	tokenHeader = "X-aws-ec2-metadata-token"
	token       = "token-of-the-lab"
)

func (a *agent) metadata() http.Handler {
	answers := map[string]string{
		"instance-id":                 a.Instance.ID,
		"local-hostname":              a.Instance.Hostname,
		"local-ipv4":                  a.host(),
		"placement/availability-zone": a.Instance.Zone,
	}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /latest/api/token", func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get(tokenHeader+"-ttl-seconds") == "" {
			http.Error(w, "for how long?", http.StatusBadRequest)
			return
		}
		fmt.Fprint(w, token)
	})
	mux.HandleFunc("GET /latest/", func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get(tokenHeader) != token {
			http.Error(w, "a token is required", http.StatusUnauthorized)
			return
		}
		if req.URL.Path == "/latest/user-data" {
			http.ServeFile(w, req, a.path(UserData))
			return
		}
		answer, known := answers[strings.TrimPrefix(req.URL.Path, "/latest/meta-data/")]
		if !known {
			http.NotFound(w, req)
			return
		}
		fmt.Fprint(w, answer)
	})
	return mux
}

// userData is what the instance was started with.
func (a *agent) userData() ([]byte, error) {
	text, err := os.ReadFile(a.path(UserData))
	if err != nil {
		return nil, fmt.Errorf("reading the user data: %w", err)
	}
	return text, nil
}
