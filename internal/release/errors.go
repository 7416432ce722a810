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

// Kind says what stands between us and a release, so that a caller knows whom to tell and when to ask again.
type Kind string

// The kinds of errors.
const (
	// InvalidReference says that the name of the image cannot be one.
	InvalidReference Kind = "InvalidReference"
	// InvalidPullSecret says that the pull secret cannot be read.
	InvalidPullSecret Kind = "InvalidPullSecret"
	// NotFound says that the registry does not have the image.
	NotFound Kind = "NotFound"
	// Denied says that the registry does not give it to the holder of this pull secret.
	Denied Kind = "Denied"
	// Unreachable says that the registry gave no answer to go by; nothing is known about the image.
	Unreachable Kind = "Unreachable"
	// NotRelease says that the image is there and no release.
	NotRelease Kind = "NotRelease"
	// Incomplete means that the release names an image that its registry does not have or does not give.
	Incomplete Kind = "Incomplete"
	// NotAllowed means that this installation does not accept releases of that repository.
	NotAllowed Kind = "NotAllowed"
	// NotSigned means that no key that this installation trusts has signed the image.
	NotSigned Kind = "NotSigned"
)

// An Error says why there is no Release. Its text is for the user: the same problem reads the same each time.
type Error struct {
	Kind  Kind
	Image string
	// Detail is what the registry, the network or the payload had to say.
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

// KindOf is the kind of an error of this package, empty for others.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

// IsUnreachable says that nothing has been learned about the image, and that asking again later may help.
func IsUnreachable(err error) bool { return KindOf(err) == Unreachable }

// failure is an Error without the image, which the code that reads it does not know.
type failure struct {
	kind   Kind
	detail string
	err    error
}

func (f *failure) Error() string { return f.detail }
func (f *failure) Unwrap() error { return f.err }

// notRelease says what is wrong with a payload.
func notRelease(format string, args ...any) error {
	return &failure{kind: NotRelease, detail: fmt.Sprintf(format, args...)}
}

// explain says of any error what it means for the image.
func explain(image string, err error) *Error {
	var f *failure
	if !errors.As(err, &f) {
		kind, detail := classify(err)
		f = &failure{kind: kind, detail: detail, err: err}
	}
	return &Error{Kind: f.kind, Image: image, Detail: f.detail, Err: f}
}

// classify reads an error of the registry protocol, or of what is below it.
func classify(err error) (Kind, string) {
	var answer *transport.Error
	if !errors.As(err, &answer) {
		return Unreachable, words(err)
	}
	host := "the registry"
	if answer.Request != nil {
		host = answer.Request.URL.Host
	}
	said := fmt.Sprintf("%s answered %d %s", host, answer.StatusCode, http.StatusText(answer.StatusCode))
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return Denied, said
	case http.StatusNotFound:
		return NotFound, said
	}
	return Unreachable, said
}

// ports are those of our end of a connection, other ones each time.
var ports = regexp.MustCompile(`\S+:\d+->`)

// words is the error without what differs from attempt to attempt.
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
		// The library's text has the present time in it.
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

// isPrivate is about addresses that are not the world's. Who may name a release
// image must not learn by its error what answers in the networks of the
// management cluster.
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

// Cause is what lies behind an error of this package, for a log.
func Cause(err error) error {
	var f *failure
	if errors.As(err, &f) && f.err != nil {
		return f.err
	}
	return err
}
