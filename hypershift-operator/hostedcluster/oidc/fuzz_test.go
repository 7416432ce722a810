package oidc

import (
	"net/url"
	"strings"
	"testing"
)

// The bucket of an issuer is in its URL: the documents of one issuer are never written to the place of another one.
func FuzzParseIssuer(f *testing.F) {
	for _, issuer := range []string{
		"https://bucket.s3.us-east-1.amazonaws.com/demo", "https://s3.eu-west-1.amazonaws.com/bucket/demo", "https://my.bucket.s3.dualstack.us-east-1.amazonaws.com/a/b", "https://bucket.s3.cn-north-1.amazonaws.com.cn/x",
		"https://oidc.example.com/demo", "https://s3.amazonaws.com.example.com/b", "https://bucket.s3-us-gov-west-1.amazonaws.com", ":", "", "https://s3.amazonaws.com", "https://b.s3.amazonaws.com/..%2fother", "https://x.s3.amazonaws.com@evil.com/",
	} {
		f.Add(issuer)
	}
	f.Fuzz(func(t *testing.T, issuer string) {
		l := ParseIssuer(issuer)
		if l == (Location{}) {
			return
		}
		u, err := url.Parse(issuer)
		if err != nil {
			t.Fatalf("a location of what is not a URL: %+v", l)
		}
		host := u.Hostname()
		if l.Bucket != "" && (strings.Contains(l.Bucket, "/") || !strings.HasSuffix(strings.TrimSuffix(host, ".cn"), ".amazonaws.com")) {
			t.Errorf("%q is in bucket %q", issuer, l.Bucket)
		}
		if l.Region != "" && !strings.Contains(host, l.Region) {
			t.Errorf("%q is in region %q", issuer, l.Region)
		}
		if strings.HasPrefix(l.Prefix, "/") && l.Bucket == "" || strings.HasSuffix(l.Prefix, "/") || !strings.Contains(u.Path, l.Prefix) {
			t.Errorf("%q has the prefix %q", issuer, l.Prefix)
		}
	})
}
