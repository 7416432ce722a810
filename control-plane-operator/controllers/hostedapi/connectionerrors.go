package hostedapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// connectionProblem describes why host did not respond. The same problem always gets the same message, without times and
// local ports.
func connectionProblem(err error, host string) problem {
	var dns *net.DNSError
	var timeout net.Error
	var stranger x509.UnknownAuthorityError
	var misnamed x509.HostnameError
	var invalid x509.CertificateInvalidError
	var plain tls.RecordHeaderError
	silent := func(format string, args ...any) problem {
		return problem{hyperv1.KubeAPIServerUnreachableReason, fmt.Sprintf(format, args...)}
	}
	untrusted := func(reason string) problem {
		return problem{hyperv1.KubeAPIServerUntrustedReason, "the certificate of " + host + " " + reason}
	}
	switch {
	case errors.As(err, &stranger):
		return untrusted("is not signed by the authority in the kubeconfig")
	case errors.As(err, &misnamed):
		return untrusted("is issued for other names")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return untrusted("has expired or is not valid yet")
	case errors.As(err, &invalid):
		return untrusted("is not valid for a server")
	case errors.As(err, &plain):
		return problem{hyperv1.KubeAPIServerUntrustedReason, host + " does not speak TLS"}
	case errors.As(err, &dns) && dns.IsNotFound:
		return silent("the name %s does not exist", dns.Name)
	case errors.As(err, &dns):
		return silent("the name %s cannot be resolved", dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		return silent("%s refuses connections", host)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return silent("there is no route to %s", host)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return silent("%s does not answer within %s", host, requestTimeout)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return silent("%s closes the connection", host)
	}
	return silent("%s cannot be reached: %s", host, root(err))
}

// root returns the innermost cause, because outer errors contain addresses that change.
func root(err error) error {
	for {
		cause := errors.Unwrap(err)
		if cause == nil {
			return err
		}
		err = cause
	}
}
