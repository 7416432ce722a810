package infra

import (
	"crypto/x509"
	"encoding/pem"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	clocktesting "k8s.io/utils/clock/testing"
)

func proxyScriptOf(t *testing.T, s Spec) (*Cloud, string) {
	t.Helper()
	cloud := NewCloud(aws.Config{Region: s.Region}, s.Owner()).WithClock(clocktesting.NewFakePassiveClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)))
	text, err := builder{Cloud: cloud, Spec: s}.proxyUserData()
	if err != nil {
		t.Fatal(err)
	}
	return cloud, text
}

func TestScriptOfAProxy(t *testing.T) {
	s := spec()
	s.VPCCIDR, s.Proxy = netip.MustParsePrefix("10.7.0.0/16"), true
	_, plain := proxyScriptOf(t, s)
	s.Proxy, s.SecureProxy = false, true
	_, secure := proxyScriptOf(t, s)
	for name, c := range map[string]struct {
		text  string
		has   []string
		lacks []string
	}{
		"a plain proxy has no certificate":  {plain, []string{"# listeners: http\n", "http_port 3128\nacl clients src 10.7.0.0/16\n"}, []string{"https_port", "-----BEGIN", "{{"}},
		"a secure proxy has both listeners": {secure, []string{"# listeners: http and https\n", "http_port 3128\nhttps_port 3129 tls-cert=", "PRIVATE KEY-----\nEND\n", "CERTIFICATE-----\nEND\n"}, []string{"{{"}},
	} {
		for _, want := range c.has {
			if !strings.Contains(c.text, want) {
				t.Errorf("%s: %q is not in\n%s", name, want, c.text)
			}
		}
		for _, other := range c.lacks {
			if strings.Contains(c.text, other) {
				t.Errorf("%s: %q is in\n%s", name, other, c.text)
			}
		}
		// Forbidden addresses are refused before clients are allowed.
		if deny, allow := strings.Index(c.text, "http_access deny instance"), strings.Index(c.text, "http_access allow clients"); deny < 0 || allow < deny {
			t.Errorf("%s: clients reach the metadata of the instance:\n%s", name, c.text)
		}
		if len(c.text) > 16<<10 {
			t.Errorf("%s: EC2 accepts 16 KiB of user data, and it has %d bytes", name, len(c.text))
		}
	}
}

// AWS refuses a second launch with the same token and other user data.
func TestScriptOfAProxyIsTheSameInEachAttempt(t *testing.T) {
	s := spec()
	s.SecureProxy = true
	cloud, first := proxyScriptOf(t, s)
	second, err := builder{Cloud: cloud, Spec: s}.proxyUserData()
	if err != nil || second != first {
		t.Errorf("%v: the second attempt has other user data", err)
	}
	if _, other := proxyScriptOf(t, s); other == first {
		t.Error("two proxies have the same key")
	}
}

func TestAuthorityOfASecureProxyIsThatOfItsScript(t *testing.T) {
	s := spec()
	s.SecureProxy = true
	cloud, text := proxyScriptOf(t, s)
	if got := (builder{Cloud: cloud, Spec: s}).observeProxy(text); got[listeners] != secureListeners {
		t.Errorf("attributes %v", got)
	}
	block, rest := pem.Decode([]byte(cloud.ProxyCA()))
	if block == nil || len(rest) > 0 {
		t.Fatalf("authority %q", cloud.ProxyCA())
	}
	ca, err := x509.ParseCertificate(block.Bytes)
	if err != nil || !ca.IsCA || ca.NotAfter.Year() != 2039 {
		t.Errorf("%v: authority %+v", err, ca)
	}
	if (builder{Cloud: cloud, Spec: s}).observeProxy("#!/bin/bash\n"); cloud.ProxyCA() != "" {
		t.Errorf("the authority of another script is %q", cloud.ProxyCA())
	}
}

func TestAddressesOfAProxy(t *testing.T) {
	s := spec()
	s.VPCCIDR = netip.MustParsePrefix("10.7.0.0/16")
	if plain, secure := s.proxyAddresses(); plain+secure != "" {
		t.Errorf("%s and %s without a proxy", plain, secure)
	}
	s.Proxy = true
	if plain, secure := s.proxyAddresses(); plain != "http://10.7.0.10:3128" || secure != "" {
		t.Errorf("%s and %s", plain, secure)
	}
	if !netip.MustParsePrefix(s.subnet(0, false)).Contains(netip.MustParseAddr(s.proxyIP())) {
		t.Errorf("%s is not in the first public subnet", s.proxyIP())
	}
}
