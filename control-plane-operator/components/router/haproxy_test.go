package router

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/routerreload"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/test/fixture/haproxyprogram"
	"github.com/hosted-control-planes/hypershift/test/fixture/process"
)

func TestHAProxyAcceptsTheConfiguration(t *testing.T) {
	for name, rules := range map[string][]rule{
		"nothing":         nil,
		"an API server":   {{"api.example.com", "kube-apiserver", "10.57.0.1:6443"}},
		"only tunnels":    {{"k.example.com", "konnectivity-server", "10.57.0.2:8091"}},
		"by IPv6":         {{"k.example.com", "konnectivity-server", "[fd00::2]:8091"}},
		"several of each": {{"a.example.com", "kube-apiserver", "10.57.0.1:6443"}, {"b.example.com", "kube-apiserver", "10.57.0.1:6443"}, {"k.example.com", "konnectivity-server", "10.57.0.2:8091"}},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), configFile)
			write(t, file, configuration(rules))
			out, err := haproxyprogram.Command(t, "-c", "-f", file).CombinedOutput()
			if err != nil || strings.Contains(string(out), "WARNING") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// A client of a sleeping API server reads why it gets no answer. Node programs, which connect to another name, do not trust the answer.
func TestASleepingAPIServerIsAnsweredFor(t *testing.T) {
	t.Parallel()
	signer, err := pki.NewSigner("root-ca", "", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := signer.Current.Issue(pki.Request{User: "kubernetes", Usage: pki.Server, Hosts: []string{"api.example.com"}}, pki.DefaultTerms, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, certificateFile), string(leaf.CertPEM))
	write(t, filepath.Join(dir, certificateFile+".key"), string(leaf.KeyPEM))
	port, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(configurationAsleep(), certificateDir, dir)
	p := startProxyWith(t, strings.ReplaceAll(text, "127.0.0.1:8444", fmt.Sprintf("127.0.0.1:%d", port)))
	p.trust.AddCert(signer.Current.Certificate)
	if strings.Contains(p.output(), "WARNING") {
		t.Error(p.output())
	}
	host := fmt.Sprintf("https://127.0.0.1:%d", p.port)
	var got error
	p.eventually("the router answers", func() bool {
		c, err := kubernetes.NewForConfig(&rest.Config{Host: host, TLSClientConfig: rest.TLSClientConfig{ServerName: "api.example.com", CAData: pki.Bundle(signer.Current.Certificate)}})
		if err != nil {
			t.Fatal(err)
		}
		_, got = c.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		return apierrors.IsServiceUnavailable(got)
	})
	if !strings.Contains(got.Error(), "the cluster is asleep: set annotation hypershift.openshift.io/sleep of its HostedCluster to false to wake it") {
		t.Errorf("the client gets %q", got)
	}
	// A connection that stays open would get this answer as long as the router drains, while the API server runs again.
	pool := x509.NewCertPool()
	pool.AddCert(signer.Current.Certificate)
	c := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{ServerName: "api.example.com", RootCAs: pool, MinVersion: tls.VersionTLS12}}}
	for range 2 {
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
			if i.Reused {
				t.Error("the connection stays open after an answer")
			}
		}})
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, host+"/readyz", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("got %s, %v", resp.Status, err)
		}
		resp.Body.Close()
	}
	if conn, err := p.dial("konnectivity-server.example.com"); err == nil {
		conn.Close()
		t.Error("a tunnel trusts the answer")
	}
	if conn, err := p.dial("api.example.com"); err != nil {
		t.Error(err)
	} else {
		conn.Close()
	}
	if !p.healthy() {
		t.Error("the router is not healthy")
	}
}

func write(t testing.TB, file, text string) {
	t.Helper()
	// The kubelet replaces files atomically as well.
	if err := os.WriteFile(file+".new", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// proxy is a running HAProxy with the reloader.
type proxy struct {
	t                 testing.TB
	file, log, master string
	port, health      int
	trust             *x509.CertPool
}

func startProxy(t testing.TB, rules ...rule) *proxy { return startProxyWith(t, configuration(rules)) }

func startProxyWith(t testing.TB, text string) *proxy {
	p := &proxy{t: t, trust: x509.NewCertPool()}
	dir := t.TempDir()
	p.file = filepath.Join(dir, configFile)
	for _, port := range []*int{&p.port, &p.health} {
		var err error
		if *port, err = process.FreePort(); err != nil {
			t.Fatal(err)
		}
	}
	p.configure(text)
	p.master = filepath.Join(dir, "master.sock")
	cmd := haproxyprogram.Command(t, "-W", "-db", "-S", p.master+",mode,600", "-f", p.file)
	p.log = filepath.Join(dir, "log")
	log, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(p.output())
		}
	})
	reloader, err := routerreload.Parse([]string{"--config=" + p.file, "--master=" + p.master})
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
	return p
}

// output returns HAProxy's output so far.
func (p *proxy) output() string {
	p.t.Helper()
	text, err := os.ReadFile(p.log)
	if err != nil {
		p.t.Error(err)
	}
	return string(text)
}

// configure writes a configuration with free ports.
func (p *proxy) configure(text string) {
	p.t.Helper()
	text = strings.ReplaceAll(text, "bind :::8443 v4v6", fmt.Sprintf("bind 127.0.0.1:%d", p.port))
	text = strings.ReplaceAll(text, "server self 127.0.0.1:8443", fmt.Sprintf("server self 127.0.0.1:%d", p.port))
	write(p.t, p.file, strings.ReplaceAll(text, "bind :::9444 v4v6", fmt.Sprintf("bind 127.0.0.1:%d", p.health)))
}

// server responds to each line with its name.
func (p *proxy) server(name string) (address string) {
	signer, err := pki.NewSigner(name, "", time.Now())
	if err != nil {
		p.t.Fatal(err)
	}
	p.trust.AddCert(signer.Current.Certificate)
	leaf, err := signer.Current.Issue(pki.Request{User: name, Usage: pki.Server, Hosts: []string{"a.example.com", "b.example.com", "c.example.com"}}, pki.DefaultTerms, time.Now())
	if err != nil {
		p.t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(leaf.CertPEM, leaf.KeyPEM)
	if err != nil {
		p.t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { listener.Close() })
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
	return listener.Addr().String()
}

// dial connects to a host through the router.
func (p *proxy) dial(host string) (net.Conn, error) {
	dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: 10 * time.Second}, Config: &tls.Config{ServerName: host, RootCAs: p.trust}}
	return dialer.DialContext(p.t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", p.port))
}

// who returns the name of the server at the other end.
func who(conn net.Conn) string {
	fmt.Fprintln(conn, "who?")
	name, _ := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(name)
}

// reaches returns the name of the server for a host, or "".
func (p *proxy) reaches(host string) string {
	conn, err := p.dial(host)
	if err != nil {
		return ""
	}
	defer conn.Close()
	return who(conn)
}

func (p *proxy) eventually(what string, is func() bool) {
	p.t.Helper()
	err := wait.PollUntilContextTimeout(p.t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		p.t.Fatalf("not within a minute: %s", what)
	}
}

// Load balancers check the router with a connection that sends no data.
func TestConnectionsWithoutClientHelloAreClosed(t *testing.T) {
	t.Parallel()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	var asked atomic.Int32
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			asked.Add(1)
			conn.Close()
		}
	}()
	p := startProxy(t, rule{"a.example.com", "kube-apiserver", server.Addr().String()})
	for _, c := range []struct {
		says string
		want int32
	}{{"", 0}, {"SSH-2.0-client\r\n", 1}} {
		p.eventually("the router answers", func() bool {
			conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", p.port))
			if err != nil {
				return false
			}
			defer conn.Close()
			_, err = fmt.Fprint(conn, c.says)
			if err := errors.Join(err, conn.(*net.TCPConn).CloseWrite()); err != nil {
				t.Fatal(err)
			}
			_, _ = io.ReadAll(conn) // until it is closed
			return true
		})
		if got := asked.Load(); got != c.want {
			t.Errorf("after %q the server was called %d times, want %d", c.says, got, c.want)
		}
	}
}

func TestConfigurationChangeKeepsConnections(t *testing.T) {
	t.Parallel()
	p := startProxy(t)
	one, other := p.server("one"), p.server("other")
	rules := []rule{{"a.example.com", "one", one}, {"b.example.com", "other", other}}
	p.configure(configuration(rules))
	p.eventually("a leads to one", func() bool { return p.reaches("a.example.com") == "one" })
	if got := p.reaches("b.example.com"); got != "other" {
		t.Errorf("b leads to %q", got)
	}
	if got := p.reaches("c.example.com"); got != "" {
		t.Errorf("a host that nobody has leads to %q", got)
	}
	before, err := p.dial("a.example.com")
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()

	rules[0].address, rules[0].service = other, "moved"
	p.configure(configuration(append(slices.Clone(rules), rule{"c.example.com", "one", one})))
	p.eventually("c leads to one", func() bool { return p.reaches("c.example.com") == "one" })
	if got := p.reaches("a.example.com"); got != "other" {
		t.Errorf("a leads to %q after the change", got)
	}
	if got := who(before); got != "one" {
		t.Errorf("the connection of before the change has %q at its end", got)
	}

	// An invalid configuration has no effect, and the next valid one is loaded.
	p.configure(strings.Replace(configuration(rules), "description ", "bogus\n    description not-", 1))
	p.eventually("HAProxy has seen it", func() bool { return strings.Contains(p.output(), "bogus") })
	if got := p.reaches("a.example.com"); got != "other" {
		t.Errorf("a leads to %q after a change that cannot be read", got)
	}
	p.configure(configuration(append(slices.Clone(rules), rule{"c.example.com", "other", other})))
	p.eventually("c leads to the other", func() bool { return p.reaches("c.example.com") == "other" })
	if got := who(before); got != "one" {
		t.Errorf("the connection of before has %q at its end", got)
	}
}

// drain runs the hook of the container, and returns when it has ended.
func (p *proxy) drain() <-chan error {
	drainer, err := routerreload.ParseDrain([]string{"--master=" + p.master, "--timeout=1m"})
	if err != nil {
		p.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- drainer.Run(p.t.Context()) }()
	return done
}

// healthy returns the response of the readiness and liveness endpoint.
func (p *proxy) healthy() bool {
	resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/haproxy_ready", p.health))
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func TestDrainingRouterRejectsNewConnectionsAndWaitsForOpenOnes(t *testing.T) {
	t.Parallel()
	p := startProxy(t)
	p.configure(configuration([]rule{{"a.example.com", "one", p.server("one")}}))
	p.eventually("a leads to one", func() bool { return p.reaches("a.example.com") == "one" })
	there, err := p.dial("a.example.com")
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	drained := p.drain()
	p.eventually("new connections are refused", func() bool { return p.reaches("a.example.com") == "" })
	p.eventually("readiness fails", func() bool { return !p.healthy() })
	select {
	case err := <-drained:
		t.Fatalf("did not wait for a connection: %v", err)
	default:
	}
	if got := who(there); got != "one" {
		t.Errorf("the open connection has %q at its other end", got)
	}
	there.Close()
	p.eventually("it is drained", func() bool {
		select {
		case err := <-drained:
			return err == nil
		default:
			return false
		}
	})
}

// The kubelet restarts HAProxy if clients cannot connect to it, whatever the reason.
func TestHealthFailsWhenTheFrontendIsShutDown(t *testing.T) {
	t.Parallel()
	p := startProxy(t)
	p.configure(configuration([]rule{{"a.example.com", "one", p.server("one")}}))
	p.eventually("a leads to one", func() bool { return p.reaches("a.example.com") == "one" })
	if !p.healthy() {
		t.Error("a router that works is not healthy")
	}
	p.command("@1 shutdown frontend hosts")
	p.eventually("health fails", func() bool { return !p.healthy() })
	p.command("reload")
	p.eventually("a new worker is healthy", p.healthy)
}

// command sends a command to the socket of the master process.
func (p *proxy) command(text string) {
	p.t.Helper()
	var conn net.Conn
	p.eventually("the master process listens", func() (ok bool) {
		var err error
		conn, err = net.Dial("unix", p.master)
		return err == nil
	})
	defer conn.Close()
	fmt.Fprintln(conn, text)
	if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
		p.t.Fatal(err)
	}
	_, _ = io.ReadAll(conn)
}

func TestOnlyTheRouterItselfGetsThePlainHTTPHealthCheck(t *testing.T) {
	text := configuration(nil)
	for _, rule := range []string{"switch-mode http", "use_backend _self"} {
		for line := range strings.Lines(text) {
			if strings.Contains(line, rule) && !strings.Contains(line, "if { src 127.0.0.0/8 } HTTP") {
				t.Errorf("others than the router itself get: %s", line)
			}
		}
	}
}

// A single probe may fail while one worker takes over from another: kubelets mark a pod unready after three failures, five
// seconds apart. The router must not be unhealthy for longer than one of these intervals.
func TestRouterStaysHealthyDuringConfigurationChanges(t *testing.T) {
	t.Parallel()
	p := startProxy(t)
	one := p.server("one")
	p.eventually("it is healthy", p.healthy)
	healthy := time.Now()
	for i := range 3 {
		host := fmt.Sprintf("%c.example.com", 'a'+i)
		p.configure(configuration([]rule{{host, "one", one}}))
		p.eventually(host+" leads to one", func() bool {
			reached := p.reaches(host) == "one"
			if p.healthy() {
				healthy = time.Now()
				return reached
			}
			if down := time.Since(healthy); down > 5*time.Second {
				t.Fatalf("not healthy for %s while it loads %s", down, host)
			}
			return false
		})
	}
}
