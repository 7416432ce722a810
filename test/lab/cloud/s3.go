package cloud

import (
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"github.com/hosted-control-planes/hypershift/test/lab/publicca"
	"github.com/hosted-control-planes/hypershift/test/lab/resolver"
)

// serveS3 serves the public names of S3 and STS over TLS: programs in VPCs that know no endpoint of the emulator, such as those that
// verify tokens of an issuer in a bucket, and pods with a role, use these.
func (c *Cloud) serveS3(ctx context.Context, o Options) (netip.AddrPort, error) {
	emulator, err := url.Parse(c.AWS.URL)
	if err != nil {
		return netip.AddrPort{}, err
	}
	ca, err := publicca.OfMachine()
	if err != nil {
		return netip.AddrPort{}, err
	}
	certificate, err := ca.Certificate(resolver.S3, "*."+resolver.S3, resolver.STS)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("serving S3: %w", err)
	}
	listener, err := net.Listen("tcp4", net.JoinHostPort(o.Host, strconv.Itoa(o.TLSPort)))
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("serving S3: %w", err)
	}
	server := &http.Server{
		Handler:           s3Handler(emulator),
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.New(o.Progress, "S3: ", 0),
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	c.wg.Go(func() { _ = server.ServeTLS(listener, "", "") }) // until it is closed
	return netip.ParseAddrPort(listener.Addr().String())
}

// s3Handler forwards requests to the emulator, which does not check permissions of anonymous requests to S3: these may read objects,
// as in a public bucket. STS checks the tokens in its requests, which are not signed.
func s3Handler(emulator *url.URL) http.Handler {
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(emulator)
		r.Out.Host = r.In.Host // it names the bucket
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		anonymous := req.Header.Get("Authorization") == "" && !req.URL.Query().Has("X-Amz-Signature")
		reads := req.Method == http.MethodGet || req.Method == http.MethodHead
		if anonymous && req.Host != resolver.STS && (!reads || req.URL.Path == "/") {
			http.Error(w, "AccessDenied", http.StatusForbidden)
			return
		}
		proxy.ServeHTTP(w, req)
	})
}
