package release

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"syscall"
	"testing"
)

// Our end of a connection and the time of day are other ones each time.
func TestTheSameErrorHasTheSameMessage(t *testing.T) {
	get := func(err error) error { return &url.Error{Op: "Get", URL: "https://registry.test/v2/", Err: err} }
	server := &net.TCPAddr{IP: net.IPv4(198, 51, 100, 1), Port: 443}
	for want, err := range map[string]error{
		"no answer in time": get(context.DeadlineExceeded),
		"looking up registry.test: no such host": get(&net.OpError{Op: "dial", Err: &net.DNSError{
			Err: "no such host", Name: "registry.test", Server: "10.0.0.10:53", IsNotFound: true,
		}}),
		"dial 198.51.100.1:443: connect: connection refused": get(&net.OpError{Op: "dial", Net: "tcp", Addr: server, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}),
		"read 198.51.100.1:443: read: connection reset by peer": get(&net.OpError{
			Op: "read", Net: "tcp", Source: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 9), Port: 40123}, Addr: server, Err: os.NewSyscallError("read", syscall.ECONNRESET),
		}),
		"the registry does not speak TLS":                            get(tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}),
		"the certificate of the registry is not valid at this time":  get(&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.Expired, Detail: "current time 2030-01-01T00:00:00Z is after 2029-01-01T00:00:00Z"}}),
		"read tcp 10.0.0.1:443: use of closed network connection":    get(errors.New("read tcp 10.0.0.9:40123->10.0.0.1:443: use of closed network connection")),
		"reading sha256:0: something else, said by somebody unheard": fmt.Errorf("reading sha256:0: %w", errors.New("something else, said by somebody unheard")),
	} {
		if kind, got := classify(err); got != want || kind != Unreachable {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
	if !IsUnreachable(explain("a", get(context.DeadlineExceeded))) || KindOf(errors.New("other")) != "" {
		t.Error("kinds are mixed up")
	}
}

// A refused connection, a reset one and a network without a way must not be told apart: the image's name is a tenant's.
func TestErrorsDoNotRevealServersAtPrivateAddresses(t *testing.T) {
	for _, ip := range []string{"10.0.0.7", "192.168.1.1", "172.16.0.1", "127.0.0.1", "169.254.169.254", "100.64.0.1", "fd00:ec2::254", "::1", "::ffff:10.0.0.7"} {
		var all []string
		for op, cause := range map[string]error{"dial": syscall.ECONNREFUSED, "read": syscall.ECONNRESET, "write": syscall.EHOSTUNREACH} {
			err := &url.Error{Op: "Get", URL: "https://" + ip, Err: &net.OpError{Op: op, Net: "tcp", Addr: &net.TCPAddr{IP: net.ParseIP(ip), Port: 5000}, Err: os.NewSyscallError("connect", cause)}}
			explained := explain("a", err)
			all = append(all, explained.Detail)
			if !errors.Is(Cause(explained), cause) {
				t.Errorf("the log does not have the cause: %v", Cause(explained))
			}
		}
		slices.Sort(all)
		if all = slices.Compact(all); len(all) != 1 {
			t.Errorf("%s: %q", ip, all)
		}
	}
}
