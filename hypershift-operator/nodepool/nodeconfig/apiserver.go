package nodeconfig

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
)

// apiServerUnit forwards connections of pods and of the kubelet to the API server. The cluster's Service "kubernetes" has one
// address for all nodes: endpoints are addresses, and the API server has only a name. The unit listens on this address, resolves the name
// for each connection and forwards bytes. TLS is between the pod and the API server.
const apiServerUnit = "hypershift-apiserver"

// apiServerSocket adds the address to the node and listens on it. It is an address of the node itself, so that no packet for
// it leaves the node.
func apiServerSocket(at netip.AddrPort) string {
	return fmt.Sprintf(`[Socket]
ExecStartPre=/usr/bin/env PATH=%[1]s ip address replace %[2]s/%[3]d dev lo
ListenStream=%[4]s
[Install]
WantedBy=sockets.target
`, kubeletPath, at.Addr(), at.Addr().BitLen(), at)
}

// connections is how many connections there may be on one node. Some pods watch, and a kubelet may run hundreds of pods.
const connections = 4096

var apiServerProxy = fmt.Sprintf(`[Unit]
Wants=network-online.target %[1]s
After=network-online.target %[1]s
[Service]
EnvironmentFile=%[2]s
ExecStart=/usr/lib/systemd/systemd-socket-proxyd --connections-max=%[3]d ${ADDRESS}
`, resolverUnit, serverFile, connections)

// serverEnvironment is the content of serverFile: the address of the API server that the node uses. authorities.sh replaces
// the file when the access mode of the cluster changes.
func serverEnvironment(server string) (string, error) {
	address, err := serverAddress(server)
	return fmt.Sprintf("SERVER=%s\nADDRESS=%s\n", server, address), err
}

// serverAddress returns the host and port of a URL.
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
