package hostedapi

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Messages do not contain local ports or times.
func TestConnectionErrorsHaveStableMessages(t *testing.T) {
	const host = "api.example.com:6443"
	dial := func(err error) error {
		from, to := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 40001}, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 6443}
		return &url.Error{Op: "Get", URL: "https://" + host + "/readyz", Err: &net.OpError{Op: "dial", Net: "tcp", Source: from, Addr: to, Err: err}}
	}
	for name, c := range map[string]struct {
		err  error
		want problem
	}{
		"nobody listens":            {dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), problem{hyperv1.KubeAPIServerUnreachableReason, host + " refuses connections"}},
		"no route":                  {dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), problem{hyperv1.KubeAPIServerUnreachableReason, "there is no route to " + host}},
		"it takes too long":         {dial(context.DeadlineExceeded), problem{hyperv1.KubeAPIServerUnreachableReason, host + " does not answer within 5s"}},
		"the name is unknown":       {dial(&net.DNSError{Name: "api.example.com", Server: "10.0.0.3:53", IsNotFound: true}), problem{hyperv1.KubeAPIServerUnreachableReason, "the name api.example.com does not exist"}},
		"the resolver is ill":       {dial(&net.DNSError{Name: "api.example.com", Server: "10.0.0.3:53", Err: "server misbehaving"}), problem{hyperv1.KubeAPIServerUnreachableReason, "the name api.example.com cannot be resolved"}},
		"it hangs up":               {fmt.Errorf("reading: %w", io.ErrUnexpectedEOF), problem{hyperv1.KubeAPIServerUnreachableReason, host + " closes the connection"}},
		"an unknown authority":      {dial(x509.UnknownAuthorityError{}), problem{hyperv1.KubeAPIServerUntrustedReason, "the certificate of " + host + " is not signed by the authority in the kubeconfig"}},
		"another name":              {dial(x509.HostnameError{Certificate: &x509.Certificate{}, Host: "api.example.com"}), problem{hyperv1.KubeAPIServerUntrustedReason, "the certificate of " + host + " is issued for other names"}},
		"a certificate of old":      {dial(x509.CertificateInvalidError{Reason: x509.Expired, Detail: "current time 2026-01-02T03:04:05Z is after 2025-01-01T00:00:00Z"}), problem{hyperv1.KubeAPIServerUntrustedReason, "the certificate of " + host + " has expired or is not valid yet"}},
		"a certificate for clients": {dial(x509.CertificateInvalidError{Reason: x509.IncompatibleUsage}), problem{hyperv1.KubeAPIServerUntrustedReason, "the certificate of " + host + " is not valid for a server"}},
		"anything else":             {dial(errors.New("tls: internal error")), problem{hyperv1.KubeAPIServerUnreachableReason, host + " cannot be reached: tls: internal error"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, connectionProblem(c.err, host), cmp.AllowUnexported(problem{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
