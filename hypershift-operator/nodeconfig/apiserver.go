package nodeconfig

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
)

// apiServerUnit leads pods to the API server. The Service "kubernetes" of the cluster leads to an address that is the same on
// every node, because its endpoints are addresses and the API server is known by a name only. There is one of ours behind it, which
// asks for that name with each connection and hands everything on: TLS is between the pod and the API server.
const apiServerUnit = "hypershift-apiserver"

// apiServerSocket brings the address, and listens there. The address is the node's own, so that no packet to it leaves the node.
func apiServerSocket(at netip.AddrPort) string {
	return fmt.Sprintf(`[Socket]
ExecStartPre=/usr/bin/env PATH=%[1]s ip address replace %[2]s/%[3]d dev lo
ListenStream=%[4]s
[Install]
WantedBy=sockets.target
`, kubeletPath, at.Addr(), at.Addr().BitLen(), at)
}

// connections is how many pods of one node may have: some watch, and kubelets have room for hundreds of pods.
const connections = 4096

func apiServerProxy(server string) string {
	return fmt.Sprintf(`[Unit]
Wants=network-online.target
After=network-online.target
[Service]
ExecStart=/usr/lib/systemd/systemd-socket-proxyd --connections-max=%d %s
`, connections, server)
}

// serverAddress is the host and port of a URL.
func serverAddress(server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", fmt.Errorf("reading the URL of the API server: %w", err)
	}
	if u.Port() == "" {
		return "", fmt.Errorf("reading the URL of the API server: %s has no port", server)
	}
	return net.JoinHostPort(u.Hostname(), u.Port()), nil
}
