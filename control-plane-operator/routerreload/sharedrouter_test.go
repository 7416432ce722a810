package routerreload_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/routerreload"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
	"github.com/hosted-control-planes/hypershift/test/fixture/haproxyprogram"
	"github.com/hosted-control-planes/hypershift/test/fixture/process"
	"github.com/hosted-control-planes/hypershift/test/fixture/proxyprotocol"
)

// The endpoints and hosts of two clusters with the same name, and so with the same private hosts.
const (
	endpointOfA = "vpce-0aaaaaaaaaaaaaaaa"
	endpointOfB = "vpce-0bbbbbbbbbbbbbbbb"
	private     = "api.demo.hypershift.local"
	tunnels     = "konnectivity-server.apps.demo.hypershift.local"
)

// router is a running HAProxy with the sidecar, and its files.
type router struct {
	*testing.T
	dir          string
	port, health int
	// loads is the number of configurations that were loaded. Set when the test ends.
	loads int
}

func start(t *testing.T, table sharedrouter.Table) *router {
	r := &router{T: t, dir: t.TempDir()}
	for _, port := range []*int{&r.port, &r.health} {
		var err error
		if *port, err = process.FreePort(); err != nil {
			t.Fatal(err)
		}
	}
	r.write(table)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	config, master := filepath.Join(r.dir, sharedrouter.ConfigFile), filepath.Join(t.TempDir(), "master.sock")
	cmd := haproxyprogram.Command(t, "-W", "-db", "-S", master+",mode,600", "-f", config)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		text, err := os.ReadFile(log.Name())
		if err != nil || strings.Contains(string(text), "config :") || t.Failed() { // a warning about the configuration
			t.Errorf("%v\n%s", err, text)
		}
		r.loads = strings.Count(string(text), "Loading success")
	})
	reloader, err := routerreload.Parse([]string{"--config=" + config, "--master=" + master})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- reloader.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	r.eventually("the router is healthy", func() bool {
		resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/haproxy_ready", r.health))
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return r
}

// write writes the files of a table, with free ports, as a kubelet does.
func (r *router) write(table sharedrouter.Table) {
	r.Helper()
	data, _ := table.Data()
	for name, text := range data {
		text = strings.ReplaceAll(text, "bind :::8443 v4v6", fmt.Sprintf("bind 127.0.0.1:%d", r.port))
		text = strings.ReplaceAll(text, "server self 127.0.0.1:8443", fmt.Sprintf("server self 127.0.0.1:%d", r.port))
		text = strings.ReplaceAll(text, "bind :::9444 v4v6", fmt.Sprintf("bind 127.0.0.1:%d", r.health))
		file := filepath.Join(r.dir, name)
		if err := os.WriteFile(file+".new", []byte(strings.ReplaceAll(text, "/etc/haproxy/", r.dir+"/")), 0o644); err != nil {
			r.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			r.Fatal(err)
		}
	}
}

func (r *router) eventually(what string, is func() bool) {
	r.Helper()
	err := wait.PollUntilContextTimeout(r.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		r.Fatalf("not within a minute: %s", what)
	}
}

// server sends its name to each client.
func (r *router) server(name string) netip.AddrPort {
	signer, err := pki.NewSigner(name, "", time.Now())
	if err != nil {
		r.Fatal(err)
	}
	leaf, err := signer.Current.Issue(pki.Request{User: name, Usage: pki.Server, Hosts: []string{name}}, pki.DefaultTerms, time.Now())
	if err != nil {
		r.Fatal(err)
	}
	pair, err := tls.X509KeyPair(leaf.CertPEM, leaf.KeyPEM)
	if err != nil {
		r.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					fmt.Fprintln(conn, name)
				}
			}()
		}
	}()
	return listener.Addr().(*net.TCPAddr).AddrPort()
}

// loaded waits until the maps of both clusters are loaded: that of public hosts is the last one.
func (r *router) loaded() {
	r.Helper()
	r.eventually("the maps are loaded", func() bool { return r.reaches(origin{"198.51.100.7", ""}, "api.b.example.com") == "api-b" })
}

// origin is where a connection comes from.
type origin struct{ address, endpoint string }

var (
	nodeOfA = origin{"10.0.1.5", endpointOfA}
	nodeOfB = origin{"10.0.1.5", endpointOfB}
	user    = origin{"203.0.113.9", ""}
)

// open opens a connection like a load balancer, without the first byte of the client.
func (r *router) open(from origin) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", r.port), 10*time.Second)
	if err != nil {
		return nil, err
	}
	header := proxyprotocol.Header(netip.AddrPortFrom(netip.MustParseAddr(from.address), 40000), netip.MustParseAddrPort("10.57.9.9:443"), from.endpoint)
	if _, err := conn.Write(header); err != nil {
		return nil, err
	}
	return conn, nil
}

// dial opens a connection to a host.
func (r *router) dial(from origin, host string) (net.Conn, error) {
	raw, err := r.open(from)
	if err != nil {
		return nil, err
	}
	// The test is about the server that is reached, not about its certificate.
	conn := tls.Client(raw, &tls.Config{ServerName: host, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return nil, err
	}
	if err := conn.HandshakeContext(r.Context()); err != nil {
		raw.Close()
		return nil, err
	}
	return conn, nil
}

// reaches returns the name of the server for a host, or "".
func (r *router) reaches(from origin, host string) string {
	conn, err := r.dial(from, host)
	if err != nil {
		return ""
	}
	defer conn.Close()
	return who(conn)
}

// who returns the name of the server at the other end.
func who(conn net.Conn) string {
	fmt.Fprintln(conn, "who?")
	name, _ := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(name)
}

// two returns a table of the two clusters. Users of cluster b come from one network.
func (r *router) two() sharedrouter.Table {
	return r.clusters(r.cluster("a", endpointOfA), r.cluster("b", endpointOfB))
}

func (r *router) clusters(all ...sharedrouter.Cluster) sharedrouter.Table {
	all[len(all)-1].Allowed = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}
	return sharedrouter.Table{Clusters: all}
}

func (r *router) cluster(name, endpoint string) sharedrouter.Cluster {
	return sharedrouter.Cluster{
		Namespace: "clusters-" + name, API: r.server("api-" + name), Konnectivity: r.server("tunnels-" + name),
		PublicHosts: []string{"api." + name + ".example.com"}, PrivateAPI: []string{private}, PrivateKonnectivity: []string{tunnels},
		Endpoints: []string{endpoint},
	}
}

func TestEachClientReachesItsOwnCluster(t *testing.T) {
	t.Parallel()
	r := start(t, sharedrouter.Table{})
	table := r.two()
	r.write(table)
	r.loaded()
	for _, tc := range []struct {
		name string
		from origin
		host string
		want string
	}{
		{"node of a to its API server", nodeOfA, private, "api-a"},
		{"node of a in capitals", nodeOfA, strings.ToUpper(private), "api-a"},
		{"node of a to its tunnels", nodeOfA, tunnels, "tunnels-a"},
		{"pod of a by a name of its own cluster", nodeOfA, "kubernetes.default.svc", "api-a"},
		{"node of b to its API server", nodeOfB, private, "api-b"},
		{"node of b to its tunnels", nodeOfB, tunnels, "tunnels-b"},
		{"node of a to the public host of b", nodeOfA, "api.b.example.com", "api-a"},
		{"endpoint of a stranger", origin{"10.0.1.5", "vpce-0cccccccccccccccc"}, private, ""},
		{"endpoint with the name of a map entry", origin{"10.0.1.5", "clusters-a"}, private, ""},
		{"endpoint without id", origin{"10.0.1.5", "\x00"}, private, ""},
		{"user of a", user, "api.a.example.com", "api-a"},
		{"user of a to a private host", user, private, ""},
		{"user of a to the tunnels", user, tunnels, ""},
		{"user with a key of another map", user, "clusters-a/" + private, ""},
		{"user without a host", user, "", ""},
		{"user of b outside its networks", user, "api.b.example.com", ""},
		{"user of b", origin{"198.51.100.7", ""}, "api.b.example.com", "api-b"},
	} {
		if got := r.reaches(tc.from, tc.host); got != tc.want {
			t.Errorf("%s: reaches %q, want %q", tc.name, got, tc.want)
		}
	}
}

// Clusters with many networks, some inside of those of others, need no new worker and admit exactly their own clients.
func TestNetworksOfClients(t *testing.T) {
	t.Parallel()
	var r *router
	t.Cleanup(func() { // after HAProxy has ended
		if r.loads != 1 {
			t.Errorf("HAProxy loaded %d configurations, want 1", r.loads)
		}
	})
	r = start(t, sharedrouter.Table{})
	a, b := r.cluster("a", endpointOfA), r.cluster("b", endpointOfB)
	a.Allowed = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("2001:db8::/32")}
	for i := range 500 { // as many as the API allows
		b.Allowed = append(b.Allowed, netip.PrefixFrom(netip.AddrFrom4([4]byte{192, byte(i >> 8), byte(i), 0}), 24))
	}
	b.Allowed[0] = netip.MustParsePrefix("198.51.100.128/25")
	c := r.cluster("c", "vpce-0cccccccccccccccc")
	c.Allowed = []netip.Prefix{netip.MustParsePrefix("::/0")}
	// First cluster c alone: no other cluster names a network of IPv4.
	r.write(sharedrouter.Table{Clusters: []sharedrouter.Cluster{c}})
	r.eventually("the maps are loaded", func() bool { return r.reaches(origin{"2001:db8::7", ""}, "api.c.example.com") == "api-c" })
	if got := r.reaches(origin{"203.0.113.9", ""}, "api.c.example.com"); got != "" {
		t.Errorf("a client of IPv4 reaches %q", got)
	}
	r.write(sharedrouter.Table{Clusters: []sharedrouter.Cluster{a, b, c}})
	r.eventually("the maps are loaded", func() bool { return r.reaches(origin{"192.1.1.7", ""}, "api.b.example.com") == "api-b" })
	for _, tc := range []struct {
		from, host string
		want       string
	}{
		{"198.51.100.7", "api.a.example.com", "api-a"},
		{"198.51.100.200", "api.a.example.com", "api-a"}, // also in the smaller network of b
		{"2001:db8::7", "api.a.example.com", "api-a"},
		{"192.1.1.7", "api.a.example.com", ""},
		{"203.0.113.9", "api.a.example.com", ""},
		{"198.51.100.7", "api.b.example.com", ""},
		{"198.51.100.200", "api.b.example.com", "api-b"},
		{"192.1.243.9", "api.b.example.com", "api-b"},
		{"198.51.100.7", "api.c.example.com", ""},
		{"2001:db8::7", "api.c.example.com", "api-c"},
	} {
		if got := r.reaches(origin{tc.from, ""}, tc.host); got != tc.want {
			t.Errorf("%s to %s: reaches %q, want %q", tc.from, tc.host, got, tc.want)
		}
	}
}

// Others than the load balancers are not believed.
func TestOnlySourcesAreBelieved(t *testing.T) {
	t.Parallel()
	var sources []netip.Prefix
	for i := range 100 { // more than HAProxy reads in one line
		sources = append(sources, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i), 0}), 24))
	}
	r := start(t, sharedrouter.Table{Sources: sources}) // HAProxy accepts the configuration, and connects to itself
	data, _ := sharedrouter.Table{Sources: sources}.Data()
	if text := data[sharedrouter.ConfigFile]; !strings.Contains(text, "tcp-request connection reject if !from_load_balancer") || strings.Count(text, "acl from_load_balancer") != 3 {
		t.Error(text)
	}
	_ = r
}

// A cluster that comes or goes does not disturb the connections of another one.
func TestClustersComeAndGo(t *testing.T) {
	t.Parallel()
	var r *router
	t.Cleanup(func() { // after HAProxy has ended
		if r.loads != 1 {
			t.Errorf("HAProxy loaded %d configurations, want 1: changes of clusters need no new worker", r.loads)
		}
	})
	r = start(t, sharedrouter.Table{})
	a := r.cluster("a", endpointOfA)
	r.write(sharedrouter.Table{Clusters: []sharedrouter.Cluster{a}})
	r.eventually("cluster a is served", func() bool { return r.reaches(nodeOfA, tunnels) == "tunnels-a" })
	lasting, err := r.dial(nodeOfA, tunnels)
	if err != nil {
		t.Fatal(err)
	}
	defer lasting.Close()
	many := []sharedrouter.Cluster{a}
	for i := range 400 { // more than one command can carry
		c := a
		c.Namespace, c.Endpoints, c.PublicHosts = fmt.Sprintf("clusters-%d", i), []string{fmt.Sprintf("vpce-0%016x", i)}, nil
		many = append(many, c)
	}
	b := r.cluster("b", endpointOfB)
	r.write(sharedrouter.Table{Clusters: append(many, b)})
	r.eventually("cluster b is served", func() bool { return r.reaches(nodeOfB, tunnels) == "tunnels-b" })
	if got := r.reaches(origin{"10.0.1.5", many[400].Endpoints[0]}, private); got != "api-a" {
		t.Errorf("the last of many reaches %q", got)
	}
	r.write(sharedrouter.Table{Clusters: []sharedrouter.Cluster{a}})
	r.eventually("cluster b is gone", func() bool { return r.reaches(nodeOfB, private) == "" })
	if err := lasting.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if got := who(lasting); got != "tunnels-a" {
		t.Errorf("the connection of cluster a reaches %q", got)
	}
}

// A tenant that opens as many connections as it can takes none from another one, and learns nothing about it.
func TestANoisyTenantIsLimited(t *testing.T) {
	t.Parallel()
	r := start(t, sharedrouter.Table{Limits: sharedrouter.Limits{PerCluster: 20, PerClient: 10}})
	table := r.two()
	table.Limits = sharedrouter.Limits{PerCluster: 20, PerClient: 10}
	table.Clusters[1].Allowed = nil
	r.write(table)
	r.loaded()
	for name, noisy := range map[string]origin{"nodes of a": nodeOfA, "a user": user} {
		var held []net.Conn
		for range 100 {
			conn, err := r.open(noisy) // and say nothing
			if err != nil {
				break
			}
			held = append(held, conn)
		}
		if got := r.reaches(nodeOfB, private); got != "api-b" {
			t.Errorf("while %s open connections, nodes of b reach %q", name, got)
		}
		if got := r.reaches(origin{"198.51.100.7", ""}, "api.b.example.com"); got != "api-b" {
			t.Errorf("while %s open connections, another user reaches %q", name, got)
		}
		if got := r.reaches(noisy, "api.a.example.com"); got != "" {
			t.Errorf("%s still reach %q", name, got)
		}
		for _, conn := range held {
			conn.Close()
		}
	}
	r.eventually("the nodes of a connect again", func() bool { return r.reaches(nodeOfA, private) == "api-a" })
	// Many users of one cluster share its limit. They leave that of another one, and that of its nodes.
	for i := range 60 {
		conn, err := r.dial(origin{fmt.Sprintf("203.0.113.%d", i+10), ""}, "api.a.example.com")
		if err != nil {
			continue
		}
		defer conn.Close()
	}
	if got := r.reaches(origin{"203.0.113.200", ""}, "api.a.example.com"); got != "" {
		t.Errorf("beyond the limit of cluster a, a user reaches %q", got)
	}
	if got := r.reaches(origin{"203.0.113.200", ""}, "api.b.example.com"); got != "api-b" {
		t.Errorf("a user of cluster b reaches %q", got)
	}
	if got := r.reaches(nodeOfA, private); got != "api-a" {
		t.Errorf("a node of cluster a reaches %q", got)
	}
}

// Who speaks no PROXY protocol, or no TLS, reaches nothing.
func TestOnlyTheLoadBalancersGetIn(t *testing.T) {
	t.Parallel()
	r := start(t, sharedrouter.Table{})
	table := r.two()
	r.write(table)
	r.loaded()
	for name, bytes := range map[string]string{
		"TLS without a header": "\x16\x03\x01",
		"HTTP":                 "GET /haproxy_ready HTTP/1.1\r\nHost: x\r\n\r\n",
		"a header, and HTTP":   string(proxyprotocol.Header(netip.MustParseAddrPort("203.0.113.9:4000"), netip.MustParseAddrPort("10.57.9.9:443"), "")) + "GET /haproxy_ready HTTP/1.1\r\nHost: x\r\n\r\n",
		"a health check":       string(proxyprotocol.Local()),
	} {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", r.port))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, bytes); err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(conn); len(got) > 0 || os.IsTimeout(err) {
			t.Errorf("%s is answered by %q, %v", name, got, err)
		}
		conn.Close()
	}
}
