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
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/routerreload"
	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/test/bed/process"
)

// haproxy finds the real program: installed, or where the lab has unpacked it.
func haproxy(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	if path, err := exec.LookPath("haproxy"); err == nil {
		return exec.Command(path, args...)
	}
	cache, err := pinned.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := filepath.Glob(filepath.Join(cache, "images", "debian-*"))
	if err != nil || len(unpacked) == 0 {
		t.Skip("there is no HAProxy: install it, or let `go run ./test/lab up` unpack one")
	}
	libraries, err := filepath.Glob(filepath.Join(unpacked[0], "usr", "lib", "*-linux-gnu"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(unpacked[0], "usr", "sbin", "haproxy"), args...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+strings.Join(libraries, ":"))
	return cmd
}

// What we write is what HAProxy reads.
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
			out, err := haproxy(t, "-c", "-f", file).CombinedOutput()
			if err != nil || strings.Contains(string(out), "WARNING") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func write(t testing.TB, file, text string) {
	t.Helper()
	// As the kubelet does: never is there half a file.
	if err := os.WriteFile(file+".new", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// proxy is a running HAProxy with the reloader beside it.
type proxy struct {
	t           testing.TB
	file, log   string
	port, drain int
	trust       *x509.CertPool
}

func startProxy(t testing.TB, rules ...rule) *proxy {
	p := &proxy{t: t, trust: x509.NewCertPool()}
	dir := t.TempDir()
	p.file = filepath.Join(dir, configFile)
	for _, port := range []*int{&p.port, &p.drain} {
		var err error
		if *port, err = process.FreePort(); err != nil {
			t.Fatal(err)
		}
	}
	p.configure(configuration(rules))
	socket := filepath.Join(dir, "master.sock")
	cmd := haproxy(t, "-W", "-db", "-S", socket+",mode,600", "-f", p.file)
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
			t.Log(p.said())
		}
	})
	reloader, err := routerreload.Parse([]string{"--config=" + p.file, "--master=" + socket, fmt.Sprintf("--listen=127.0.0.1:%d", p.drain), "--drain=1m"})
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

// said is what HAProxy wrote so far.
func (p *proxy) said() string {
	p.t.Helper()
	text, err := os.ReadFile(p.log)
	if err != nil {
		p.t.Error(err)
	}
	return string(text)
}

// configure writes a configuration with ports that are free here.
func (p *proxy) configure(text string) {
	p.t.Helper()
	text = strings.ReplaceAll(text, "bind :::8443 v4v6", fmt.Sprintf("bind 127.0.0.1:%d", p.port))
	write(p.t, p.file, strings.ReplaceAll(text, "    bind :::9444 v4v6\n", ""))
}

// server answers each line with its name.
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

// dial calls a host through the router.
func (p *proxy) dial(host string) (net.Conn, error) {
	dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: 10 * time.Second}, Config: &tls.Config{ServerName: host, RootCAs: p.trust}}
	return dialer.DialContext(p.t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", p.port))
}

// who says which server is at the other end.
func who(conn net.Conn) string {
	fmt.Fprintln(conn, "who?")
	name, _ := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(name)
}

// reaches is who answers under a host, "" if nobody does.
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

// A load balancer asks by a connection without a word whether the router is there.
func TestSilenceIsNotCarriedOn(t *testing.T) {
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
	}{{"", 0}, {"GET / HTTP/1.1\r\n\r\n", 1}} {
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

// Each host leads to its server, before and after a change, and whoever was
// connected before it stays so.
func TestAChangeCostsNoConnection(t *testing.T) {
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

	// What cannot be read changes nothing, and what comes after it does.
	p.configure(strings.Replace(configuration(rules), "description ", "bogus\n    description not-", 1))
	p.eventually("HAProxy has seen it", func() bool { return strings.Contains(p.said(), "bogus") })
	if got := p.reaches("a.example.com"); got != "other" {
		t.Errorf("a leads to %q after a change that cannot be read", got)
	}
	p.configure(configuration(append(slices.Clone(rules), rule{"c.example.com", "other", other})))
	p.eventually("c leads to the other", func() bool { return p.reaches("c.example.com") == "other" })
	if got := who(before); got != "one" {
		t.Errorf("the connection of before has %q at its end", got)
	}
}

// A router that ends takes nobody new, and waits for those who are there.
func TestARouterIsDrained(t *testing.T) {
	t.Parallel()
	p := startProxy(t)
	p.configure(configuration([]rule{{"a.example.com", "one", p.server("one")}}))
	p.eventually("a leads to one", func() bool { return p.reaches("a.example.com") == "one" })
	there, err := p.dial("a.example.com")
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	drained := make(chan error, 1)
	go func() {
		resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/drain", p.drain))
		if err == nil {
			resp.Body.Close()
		}
		drained <- err
	}()
	p.eventually("nobody new is let in", func() bool { return p.reaches("a.example.com") == "" })
	select {
	case err := <-drained:
		t.Fatalf("did not wait for a connection: %v", err)
	default:
	}
	if got := who(there); got != "one" {
		t.Errorf("who was there has %q at the other end", got)
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
