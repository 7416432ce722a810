package router

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/hosted-control-planes/hypershift/internal/names"
)

// head is the configuration before the Routes. A worker reports its description, which shows whether a new configuration
// is in use.
const head = `# Written by the control-plane-operator.
global
    description %s
    log stdout format raw local0 notice
    # A node with many cores needs no thread of this program on each of them.
    nbthread 2
    # As many connections as files may be open; a container may have millions, and room is kept for each.
    fd-hard-limit 50000
    # A worker of an older configuration keeps its connections for that long.
    hard-stop-after 1h

defaults
    mode tcp
    log global
    option dontlognull
    option clitcpka
    option srvtcpka
    # A load balancer forgets a connection without packets, after 350 s by default and after 60 s at least, and notifies neither end.
    # The kernel would send the first packet after two hours.
    clitcpka-idle 30s
    clitcpka-intvl 10s
    clitcpka-cnt 3
    # Without traffic, a server whose machine has died is noticed after 20 s, and with traffic after 10 s (tcp-ut). The kernel would need a quarter of
    # an hour, and as long the clients of that connection would have no answer.
    srvtcpka-idle 10s
    srvtcpka-intvl 5s
    srvtcpka-cnt 2
    # Shorter than the second after which the kernel tries again by itself. While a Service has no endpoints its node refuses by ICMP,
    # and HAProxy before 3.0 has no rest (its issue 2491) until the socket is closed: for good if the kernel's second try succeeds.
    timeout connect 900ms
    retries 10
    timeout client 1m
    timeout server 1m
    timeout client-fin 30s
    timeout server-fin 30s
    # Watches and tunnels say something at least every half minute.
    timeout tunnel 1h

# Fails when frontend hosts does not answer, whatever else of this process still works: a frontend that is shut down keeps its socket,
# and the kernel goes on completing handshakes for it.
frontend health
    mode http
    bind :::9444 v4v6
    monitor fail if { nbsrv(_hosts) lt 1 }
    monitor-uri /haproxy_ready

backend _hosts
    mode http
    option httpchk GET /haproxy_ready
    server self 127.0.0.1:8443 check inter 2s fall 2 rise 1

backend _self
    mode http
    http-request return status 200

frontend hosts
    bind :::8443 v4v6
    tcp-request inspect-delay 5s
    tcp-request content switch-mode http if { src 127.0.0.0/8 } HTTP
    tcp-request content accept if { req.ssl_hello_type 1 }
    # Who speaks something else need not wait. A load balancer that looks whether we are there says nothing; no server needs to hear of it.
    tcp-request content accept if { req.len gt 0 }
    tcp-request content reject
    use_backend _self if { src 127.0.0.0/8 } HTTP
`

// configuration returns HAProxy's configuration. The same rules result in the same text.
func configuration(rules []rule) string {
	var out strings.Builder
	for _, r := range rules {
		fmt.Fprintf(&out, "    use_backend %s if { req.ssl_sni -i %s }\n", r.service, r.host)
	}
	if slices.ContainsFunc(rules, func(r rule) bool { return r.service == names.KubeAPIServer }) {
		out.WriteString("    # Pods call the API server by its address in their own cluster, or by another name of that.\n")
		fmt.Fprintf(&out, "    default_backend %s\n", names.KubeAPIServer)
	}
	written := map[string]bool{}
	for _, r := range rules {
		if !written[r.service] {
			fmt.Fprintf(&out, "\nbackend %s\n    server service %s tcp-ut 10s\n", r.service, r.address)
		}
		written[r.service] = true
	}
	sum := sha256.Sum256([]byte(head + out.String()))
	return fmt.Sprintf(head, hex.EncodeToString(sum[:8])) + out.String()
}
