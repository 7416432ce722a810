// Package sharedrouter contains the names and the configuration of the shared router, which serves the control planes of all clusters that
// choose it:
//
//	users ──────────────► load balancer shared-router ──────────┐  PROXY protocol      host in the ClientHello
//	                                                            ├───────────────► HAProxy ────────────────► Service of a control plane
//	nodes ─► endpoint ──► load balancer private-shared-router ──┘  + id of the endpoint  of that cluster
//
// A connection that comes through a VPC endpoint reaches the control plane of the cluster that owns the endpoint, and no other, whatever host
// it names. Two clusters can have the same private host names. A connection without an endpoint reaches public hosts only.
//
// The load balancers and the pods belong to the installation (the Helm chart). The hypershift-operator writes the ConfigMap: a configuration,
// and maps, which HAProxy updates while it runs. A cluster that comes or goes changes maps only, so that no connection of another cluster
// is moved to an old worker.
package sharedrouter

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hosted-control-planes/hypershift/internal/haproxy"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Names of the objects of the installation. AWSEndpointServices with the first name are connected to the shared router.
const (
	// Public is the Service of the public load balancer. The Deployment and the ConfigMap have the same name.
	Public = "shared-router"
	// Private is the Service of the internal load balancer.
	Private = "private-shared-router"
	// EndpointService is the name of the AWSEndpointServices of clusters with the shared router.
	EndpointService = Public
	// Port is the port of the load balancers.
	Port = 443
)

// Keys of the ConfigMap.
const (
	ConfigFile = "haproxy.cfg"

	endpointsMap = "endpoints.map" // endpoint, in hexadecimal, to cluster
	defaultsMap  = "defaults.map"  // cluster to address of its API server
	privateMap   = "private.map"   // cluster/host to address
	publicMap    = "public.map"    // host to address
	ownersMap    = "owners.map"    // host to cluster

	// The networks of clients of public hosts. The sidecar updates maps in the order of their names, so that a cluster is limited before it is
	// published.
	networksMap = "networks.map" // address to the smallest network that any cluster names
	admittedMap = "admitted.map" // cluster/network, for each of those networks in which clients of the cluster may be
	limitedMap  = "limited.map"  // cluster that admits some networks only
)

// maxSize is the size of a table that fits into a ConfigMap, of at most 1 MiB, with its configuration and metadata.
const maxSize = 900 << 10

// A Table is what the shared router serves.
type Table struct {
	// Clusters are in the order in which they have a claim to hosts and endpoints.
	Clusters []Cluster
	// Limits bound what one client or cluster can use.
	Limits Limits
	// Sources are the networks from which load balancers connect, through nodes if their targets are instances; empty for all.
	Sources []netip.Prefix
}

// Limits are numbers of open connections in each process of the router.
type Limits struct {
	// PerCluster is the maximum of one cluster: through its endpoints, and as many to its public hosts.
	PerCluster int
	// PerClient is the maximum of one public address.
	PerClient int
}

// DefaultLimits are sufficient for a cluster of some hundred nodes with two pods of the router: a node has about six connections.
var DefaultLimits = Limits{PerCluster: 4000, PerClient: 500}

// A Cluster is a control plane behind the shared router.
type Cluster struct {
	// Namespace is the namespace of the control plane.
	Namespace string
	// API and Konnectivity are the addresses of the Services; Konnectivity is invalid if it is not served.
	API, Konnectivity netip.AddrPort
	// PublicHosts are the hosts of the API server for users, PrivateAPI and PrivateKonnectivity those for clients in the VPC of the nodes.
	PublicHosts, PrivateAPI, PrivateKonnectivity []string
	// Endpoints are the ids of the VPC endpoints of the cluster.
	Endpoints []string
	// Allowed are the networks of clients of public hosts; empty for all.
	Allowed []netip.Prefix
}

// Data returns the content of the ConfigMap, and the clusters whose public hosts do not fit. Of two clusters with the same endpoint or public
// host, the first has it.
func (t Table) Data() (data map[string]string, omitted []string) {
	clusters := slices.Clone(t.Clusters)
	maps, size := build(clusters)
	for size > maxSize && len(clusters) > 0 {
		// The cluster that takes the most space makes room for the others. Its nodes keep their way.
		largest := 0
		for i, c := range clusters {
			if c.public() && (!clusters[largest].public() || maps.sizes[c.Namespace] > maps.sizes[clusters[largest].Namespace]) {
				largest = i
			}
		}
		if !clusters[largest].public() {
			largest = len(clusters) - 1 // endpoints of thousands of clusters
			omitted = append(omitted, clusters[largest].Namespace)
			clusters = clusters[:largest]
		} else {
			omitted = append(omitted, clusters[largest].Namespace)
			clusters[largest].PublicHosts, clusters[largest].Allowed = nil, nil
		}
		maps, size = build(clusters)
	}
	limits := Limits{PerCluster: cmp.Or(t.Limits.PerCluster, DefaultLimits.PerCluster), PerClient: cmp.Or(t.Limits.PerClient, DefaultLimits.PerClient)}
	data = map[string]string{ConfigFile: configuration(limits, t.Sources)}
	for name, m := range maps.byName {
		data[name] = m.String()
	}
	return data, omitted
}

// public reports whether a cluster has entries for users.
func (c Cluster) public() bool { return len(c.PublicHosts) > 0 || len(c.Allowed) > 0 }

// tables are the maps of a configuration, and how much of them is due to each cluster.
type tables struct {
	byName map[string]*table
	sizes  map[string]int // by namespace
}

// add adds an entry of a cluster unless its key exists.
func (t tables) add(name, key, value string, c Cluster) bool {
	if !t.byName[name].add(key, value) {
		return false
	}
	t.sizes[c.Namespace] += len(key) + len(value) + 2
	return true
}

// build returns the maps of clusters, and their size.
func build(clusters []Cluster) (maps tables, size int) {
	maps = tables{byName: map[string]*table{}, sizes: map[string]int{}}
	for _, name := range []string{endpointsMap, defaultsMap, privateMap, publicMap, ownersMap, networksMap, admittedMap, limitedMap} {
		maps.byName[name] = &table{seen: map[string]bool{}}
	}
	for _, c := range clusters {
		c.addTo(maps)
	}
	admit(maps, clusters)
	for _, n := range maps.sizes {
		size += n
	}
	return maps, size
}

// addTo adds the cluster to all maps but those of networks. A cluster without an API server keeps its endpoints, which lead nowhere.
func (c Cluster) addTo(maps tables) {
	for _, id := range c.Endpoints {
		maps.add(endpointsMap, endpointKey(id), c.Namespace, c)
	}
	if !c.API.IsValid() {
		return
	}
	maps.add(defaultsMap, c.Namespace, address(c.API), c)
	for _, host := range served(c.PrivateAPI) {
		maps.add(privateMap, c.Namespace+"/"+host, address(c.API), c)
	}
	for _, host := range served(c.PrivateKonnectivity) {
		if c.Konnectivity.IsValid() {
			maps.add(privateMap, c.Namespace+"/"+host, address(c.Konnectivity), c)
		}
	}
	for _, host := range served(c.PublicHosts) {
		if maps.add(ownersMap, host, c.Namespace, c) {
			maps.add(publicMap, host, address(c.API), c)
		}
	}
}

// named is a network, and the cluster that names it first.
type named struct {
	netip.Prefix
	by Cluster
}

// admit adds the networks of all clusters. A lookup finds the smallest network that has an address, whichever cluster names it: so each
// network also admits clients of clusters that name one around it. That takes space of the cluster that names the smaller one.
func admit(maps tables, clusters []Cluster) {
	var all []named
	for _, c := range clusters {
		if len(c.Allowed) > 0 {
			maps.add(limitedMap, c.Namespace, "yes", c)
			// Without a network of IPv4, HAProxy looks for the address among those of IPv6.
			for _, n := range append([]netip.Prefix{netip.PrefixFrom(netip.IPv4Unspecified(), 0)}, c.Allowed...) {
				if n = n.Masked(); maps.add(networksMap, n.String(), n.String(), c) {
					all = append(all, named{n, c})
				}
			}
		}
	}
	for _, c := range clusters {
		admits := containing(c.Allowed)
		for _, smaller := range all {
			if admits(smaller.Prefix) {
				maps.add(admittedMap, c.Namespace+"/"+smaller.String(), "yes", smaller.by)
			}
		}
	}
}

// containing returns a function that reports whether a network is inside of one of those, in a time that depends on their different lengths only.
func containing(networks []netip.Prefix) func(netip.Prefix) bool {
	exists, lengths := map[netip.Prefix]bool{}, map[int]bool{}
	for _, n := range networks {
		exists[n.Masked()], lengths[n.Bits()] = true, true
	}
	return func(smaller netip.Prefix) bool {
		for bits := range lengths {
			if bits > smaller.Bits() {
				continue
			}
			if around, err := smaller.Addr().Prefix(bits); err == nil && exists[around] {
				return true
			}
		}
		return false
	}
}

// Owners returns the clusters that have endpoints in the data of a ConfigMap, by endpoint.
func Owners(data map[string]string) map[string]string {
	owners := map[string]string{}
	for line := range strings.Lines(data[endpointsMap]) {
		key, namespace, ok := strings.Cut(strings.TrimSpace(line), " ")
		id, err := hex.DecodeString(key)
		if ok && err == nil && len(id) > 1 {
			owners[string(id[1:])] = namespace
		}
	}
	return owners
}

// endpointKey is how HAProxy writes the field of the PROXY protocol: a subtype, and the id.
func endpointKey(id string) string {
	return strings.ToUpper(hex.EncodeToString(append([]byte{1}, id...)))
}

// address is an address in a map. The parts are separated, so that HAProxy can read them.
func address(a netip.AddrPort) string { return fmt.Sprintf("%s|%d", a.Addr(), a.Port()) }

// served returns the hosts that a map can contain, in lower case.
func served(hosts []string) []string {
	var out []string
	for _, host := range hosts {
		if host = strings.ToLower(host); haproxy.ServesHost(host) {
			out = append(out, host)
		}
	}
	return out
}

// table is a map of HAProxy.
type table struct {
	seen  map[string]bool
	lines []string
}

// add adds a key unless it exists.
func (t *table) add(key, value string) bool {
	if t.seen[key] {
		return false
	}
	t.seen[key] = true
	t.lines = append(t.lines, key+" "+value+"\n")
	return true
}

// String returns the map in the order of its keys, so that the same content is the same text.
func (t *table) String() string { return strings.Join(slices.Sorted(slices.Values(t.lines)), "") }

// directory is where the files of the ConfigMap are mounted.
const directory = "/etc/haproxy/"

// configuration returns HAProxy's configuration. It does not depend on clusters: a reload leaves an old worker as long as one connection lasts.
func configuration(limits Limits, sources []netip.Prefix) string {
	return haproxy.Configuration(names.HypershiftOperator, fmt.Sprintf(frontend, limits.PerCluster, limits.PerClient, fromSources(sources)))
}

// fromSources returns the rule that refuses the connections of others than the load balancers, before their first byte: the PROXY protocol is
// believed. HAProxy reads at most 64 words of a line.
func fromSources(sources []netip.Prefix) string {
	if len(sources) == 0 {
		return ""
	}
	var out strings.Builder
	for part := range slices.Chunk(sources, 40) {
		out.WriteString("    acl from_load_balancer src")
		for _, n := range part {
			out.WriteString(" " + n.Masked().String())
		}
		out.WriteString("\n")
	}
	return out.String() + "    tcp-request connection reject if !from_load_balancer !{ src 127.0.0.0/8 }\n"
}

// frontend is the configuration after the common part. Sources: PROXY protocol and id of the endpoint,
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/edit-target-group-attributes.html#proxy-protocol
const frontend = `# Fails when frontend hosts does not answer, whatever else of this process still works.
frontend health
    mode http
    bind :::9444 v4v6
    monitor fail if { nbsrv(_hosts) lt 1 }
    monitor-uri /haproxy_ready

backend _hosts
    mode http
    option httpchk GET /haproxy_ready
    server self 127.0.0.1:8443 check inter 2s fall 2 rise 1 check-send-proxy

backend _self
    mode http
    http-request return status 200

# Open connections through the endpoints of each cluster, to its public hosts, and of each public address.
backend _clusters
    stick-table type string len 63 size 20k expire 1h store conn_cur
backend _public
    stick-table type string len 63 size 20k expire 1h store conn_cur
backend _clients
    stick-table type ipv6 size 200k expire 1m store conn_cur

frontend hosts
    bind :::8443 v4v6 accept-proxy
%[3]s    # An endpoint belongs to one cluster. A connection through an unknown endpoint ends here, before its first byte.
    tcp-request session set-var(sess.endpoint) fc_pp_tlv(0xEA),hex
    tcp-request session set-var(sess.cluster) var(sess.endpoint),map(` + directory + endpointsMap + `)
    tcp-request session reject if { var(sess.endpoint) -m found } !{ var(sess.cluster) -m found }
    tcp-request session track-sc0 var(sess.cluster) table _clusters if { var(sess.cluster) -m found }
    tcp-request session reject if { sc0_conn_cur(_clusters) gt %[1]d }
    tcp-request session track-sc1 src table _clients if !{ var(sess.cluster) -m found } !{ src 127.0.0.0/8 }
    tcp-request session reject if { sc1_conn_cur(_clients) gt %[2]d }
    # A client says within this time which host it wants.
    tcp-request inspect-delay 5s
    tcp-request content switch-mode http if { src 127.0.0.0/8 } HTTP
    tcp-request content reject if !{ req.ssl_hello_type 1 } !{ var(sess.cluster) -m found }
    # The API server of a cluster tells its own clients if they do not speak TLS.
    tcp-request content reject if !{ req.ssl_hello_type 1 } !{ req.len gt 0 }
    tcp-request content set-var(sess.host) req.ssl_sni,lower
    # Through an endpoint: hosts of its cluster. Pods call the API server by its address in their own cluster, or by another name of that.
    tcp-request content set-var(sess.key) var(sess.cluster),concat(/,sess.host) if { var(sess.cluster) -m found }
    tcp-request content set-var(sess.to) var(sess.key),map(` + directory + privateMap + `) if { var(sess.cluster) -m found }
    tcp-request content set-var(sess.to) var(sess.cluster),map(` + directory + defaultsMap + `) if { var(sess.cluster) -m found } !{ var(sess.to) -m found }
    # Without an endpoint: public hosts.
    tcp-request content set-var(sess.owner) var(sess.host),map(` + directory + ownersMap + `) if !{ var(sess.cluster) -m found }
    tcp-request content set-var(sess.to) var(sess.host),map(` + directory + publicMap + `) if { var(sess.owner) -m found }
    tcp-request content reject if !{ var(sess.to) -m found }
    tcp-request content track-sc2 var(sess.owner) table _public if { var(sess.owner) -m found }
    tcp-request content reject if { sc2_conn_cur(_public) gt %[1]d }
    tcp-request content set-var(sess.network) src,map_ip(` + directory + networksMap + `) if { var(sess.owner) -m found }
    tcp-request content set-var(sess.admission) var(sess.owner),concat(/,sess.network) if { var(sess.owner) -m found }
    tcp-request content reject if { var(sess.owner),map(` + directory + limitedMap + `) -m found } !{ var(sess.admission),map(` + directory + admittedMap + `) -m found }
    tcp-request content set-dst var(sess.to),field(1,|)
    tcp-request content set-dst-port var(sess.to),field(2,|)
    use_backend _self if { src 127.0.0.0/8 } HTTP
    default_backend control-planes

# The destination of the connection is the server.
backend control-planes
    server service 0.0.0.0:0 tcp-ut 10s
`
