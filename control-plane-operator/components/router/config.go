package router

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hosted-control-planes/hypershift/internal/haproxy"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// head is the configuration before the Routes.
const head = `# Fails when frontend hosts does not answer, whatever else of this process still works: a frontend that is shut down keeps its socket,
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
	return haproxy.Configuration(names.ControlPlaneOperator, head+out.String())
}
