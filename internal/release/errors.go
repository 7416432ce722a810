package release

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// Kind classifies errors, so that a caller can select the condition and the retry interval.
type Kind string

// The kinds of errors.
const (
	// InvalidReference: the name of the image is not valid.
	InvalidReference Kind = "InvalidReference"
	// InvalidPullSecret: the pull secret cannot be read.
	InvalidPullSecret Kind = "InvalidPullSecret"
	// NotFound: the registry does not have the image.
	NotFound Kind = "NotFound"
	// Denied: the registry refuses the credentials of the pull secret.
	Denied Kind = "Denied"
	// Unreachable: the registry gave no usable answer. The image is unknown.
	Unreachable Kind = "Unreachable"
	// NotRelease: the image exists and is not a release.
	NotRelease Kind = "NotRelease"
	// Incomplete: the release names an image that its registry does not have or refuses.
	Incomplete Kind = "Incomplete"
	// NotAllowed: this installation does not accept releases of that repository.
	NotAllowed Kind = "NotAllowed"
	// NotSigned: no key that this installation trusts has signed the image.
	NotSigned Kind = "NotSigned"
)

// An Error is returned when a release cannot be read. Its text is for the user, and the same for the same cause.
type Error struct {
	Kind  Kind
	Image string
	// Detail is the error of the registry, the network or the payload.
	Detail string
	Err    error
}

func (e *Error) Error() string {
	return fmt.Sprintf("release image %s %s: %s", e.Image, phrases[e.Kind], e.Detail)
}

var phrases = map[Kind]string{
	InvalidReference:  "is not the name of an image",
	InvalidPullSecret: "cannot be pulled with this pull secret",
	NotFound:          "does not exist",
	Denied:            "may not be pulled",
	Unreachable:       "could not be read",
	NotRelease:        "is not a release payload",
	Incomplete:        "names an image that cannot be pulled",
	NotAllowed:        "comes from a repository that this installation does not accept",
	NotSigned:         "has no signature that this installation trusts",
}

func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of an error of this package, or "" for others.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

// IsUnreachable reports whether the image is unknown, so that a retry may help.
func IsUnreachable(err error) bool { return KindOf(err) == Unreachable }

// failure is an Error without the image, for code that does not know its name.
type failure struct {
	kind   Kind
	detail string
	err    error
}

func (f *failure) Error() string { return f.detail }
func (f *failure) Unwrap() error { return f.err }

// notRelease returns an error for a payload that cannot be used.
func notRelease(format string, args ...any) error {
	return &failure{kind: NotRelease, detail: fmt.Sprintf(format, args...)}
}

// explain classifies an error for the image.
func explain(image string, err error) *Error {
	var f *failure
	if !errors.As(err, &f) {
		kind, detail := classify(err)
		f = &failure{kind: kind, detail: detail, err: err}
	}
	return &Error{Kind: f.kind, Image: image, Detail: f.detail, Err: f}
}

// classify reads an error of the registry protocol, or of the network.
func classify(err error) (Kind, string) {
	var answer *transport.Error
	if !errors.As(err, &answer) {
		return Unreachable, words(err)
	}
	host := "the registry"
	if answer.Request != nil {
		host = answer.Request.URL.Host
	}
	message := fmt.Sprintf("%s answered %d %s", host, answer.StatusCode, http.StatusText(answer.StatusCode))
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return Denied, message
	case http.StatusNotFound:
		return NotFound, message
	}
	return Unreachable, message
}

// ports matches the local port of a connection, which differs each time.
var ports = regexp.MustCompile(`\S+:\d+->`)

// words returns the error without the parts that differ for each attempt.
func words(err error) string {
	var (
		lookup  *net.DNSError
		network *net.OpError
		record  tls.RecordHeaderError
		invalid x509.CertificateInvalidError
		request *url.Error
	)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.As(err, &lookup):
		return fmt.Sprintf("looking up %s: %s", lookup.Name, lookup.Err)
	case errors.As(err, &record):
		return "the registry does not speak TLS"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		// The text of the library contains the current time.
		return "the certificate of the registry is not valid at this time"
	case errors.As(err, &network) && isPrivate(network.Addr):
		return "no connection to its private address; the log of the operator has the cause"
	case errors.As(err, &network) && network.Addr != nil:
		return fmt.Sprintf("%s %s: %s", network.Op, network.Addr, network.Err)
	case errors.As(err, &request):
		err = request.Err
	}
	return ports.ReplaceAllString(err.Error(), "")
}

// isPrivate reports whether an address is not public. The error for an image must not reveal to its author which servers
// exist in the networks of the management cluster.
func isPrivate(addr net.Addr) bool {
	if addr == nil {
		return false
	}
	at, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return false
	}
	ip := at.Addr().Unmap()
	return ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() || carrier.Contains(ip)
}

// carrier is the shared range that clouds use for pods and services.
var carrier = netip.MustParsePrefix("100.64.0.0/10")

// Cause returns the cause of an error of this package, for a log.
func Cause(err error) error {
	var f *failure
	if errors.As(err, &f) && f.err != nil {
		return f.err
	}
	return err
}
