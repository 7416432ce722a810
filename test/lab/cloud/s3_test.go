package cloud

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/vishvananda/netlink"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/lab/isolated"
	"github.com/hosted-control-planes/hypershift/test/lab/publicca"
)

// A program in a VPC that knows only the URL of an issuer reads its documents, and cannot change them.
func TestObjectsOfAPublicBucketAreReadFromAVPC(t *testing.T) {
	isolated.Require(t)
	lo := must[netlink.Link](t)(netlink.LinkByName("lo"))
	_ = netlink.AddrAdd(lo, must[*netlink.Addr](t)(netlink.ParseAddr("10.55.0.1/32"))) // another test has
	c := startCloudAt(t, "10.55.0.1", netip.MustParseAddrPort("10.55.0.1:5000"))
	customer := must[*awsemulator.Customer](t)(c.AWS.SeedCustomer(t.Context(), awsemulator.CustomerOptions{Name: "demo", InfraID: "demo-1", Issuer: "https://issuer.example.test"}))
	bucket := s3.NewFromConfig(c.AWS.Config(c.Management.Account), func(o *s3.Options) { o.UsePathStyle = true })
	must[*s3.PutObjectOutput](t)(bucket.PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: &c.Management.Bucket, Key: aws.String("demo-1/openid/v1/jwks"), Body: strings.NewReader("keys"),
	}))
	roots := x509.NewCertPool()
	ca := must[*publicca.CA](t)(publicca.OfMachine())
	roots.AppendCertsFromPEM(must[[]byte](t)(os.ReadFile(ca.File)))
	names := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return inVPC(ctx, c, customer.VPC, "169.254.169.253:53")
	}}
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots},
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			host, _, _ := net.SplitHostPort(address)
			found, err := names.LookupNetIP(ctx, "ip4", host)
			if err != nil {
				return nil, err
			}
			// The test cannot listen on port 443.
			return c.Network().Router(customer.VPC).DialContext(ctx, netip.Addr{}, netip.AddrPortFrom(found[0].Unmap(), c.s3.Port()))
		},
	}}
	request := func(ctx context.Context, method, path string) (string, error) {
		req := must[*http.Request](t)(http.NewRequestWithContext(ctx, method, "https://"+c.Management.Bucket+".s3.us-east-1.amazonaws.com"+path, strings.NewReader("")))
		resp, err := client.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return fmt.Sprintf("%d %s", resp.StatusCode, text), err
	}
	eventually(t, "the object is read", func(ctx context.Context) error {
		got, err := request(ctx, http.MethodGet, "/demo-1/openid/v1/jwks")
		if err == nil && got != "200 keys" {
			err = fmt.Errorf("the response is %q", got)
		}
		return err
	})
	for method, path := range map[string]string{http.MethodPut: "/demo-1/openid/v1/jwks", http.MethodDelete: "/demo-1/openid/v1/jwks", http.MethodGet: "/"} {
		if got, err := request(t.Context(), method, path); err != nil || !strings.HasPrefix(got, "403 ") {
			t.Errorf("%s %s: %q, %v", method, path, got, err)
		}
	}
}
