// Package haproxy contains the part of HAProxy's configuration that all routers have.
package haproxy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
)

// common are the global settings and the defaults. A worker reports its description, which shows whether a new configuration is in
// use.
const common = `global
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

`

// Configuration returns a configuration: a comment with its author, what all routers have, and the rest. The same rest results in the same
// text, and another rest in another description.
func Configuration(author, rest string) string {
	head := "# Written by the " + author + ".\n" + common
	sum := sha256.Sum256([]byte(head + rest))
	return fmt.Sprintf(head, hex.EncodeToString(sum[:8])) + rest
}

// hostname is the only pattern of user input that is written to a configuration. A pattern with the maximum length would take 160 KB in
// every operator.
var hostname = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// maxHostname is the maximum length of a DNS name.
const maxHostname = 253

// ServesHost reports whether a configuration can contain a host name, in lower case.
func ServesHost(host string) bool { return len(host) <= maxHostname && hostname.MatchString(host) }
