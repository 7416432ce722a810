package infra

import (
	"crypto/x509"
	_ "embed"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hosted-control-planes/hypershift/internal/awsx/securitygroup"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/machine"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

const (
	proxyNode  = "proxy"
	proxyGroup = "proxy-group"

	// proxyPort is for clients that connect without TLS, and secureProxyPort for those that connect with it.
	proxyPort       = 3128
	secureProxyPort = 3129
	// proxyHost is the place of the proxy in its subnet. AWS keeps the first four addresses.
	proxyHost = 10
	proxyType = "t3.small"
	// proxyValidity of the certificate: it is never renewed.
	proxyValidity = 10 * 365 * 24 * time.Hour

	// listeners is the attribute with the protocols between clients and the proxy.
	listeners       = "listeners"
	plainListener   = "http"
	secureListeners = "http and https"
)

// HasProxy reports whether private subnets have no way to the internet but a proxy in the public subnet of the first zone.
func (s Spec) HasProxy() bool { return s.Proxy || s.SecureProxy }

// proxyIP is the address of the proxy. It is fixed, because the certificate of the proxy has it.
func (s Spec) proxyIP() string {
	address := s.VPCCIDR.Addr().As4()
	binary.BigEndian.PutUint32(address[:], binary.BigEndian.Uint32(address[:])+proxyHost)
	return netip.AddrFrom4(address).String()
}

func (s Spec) proxyListeners() string {
	if s.SecureProxy {
		return secureListeners
	}
	return plainListener
}

// proxyAddresses returns the URLs of the proxy, with and without TLS to it. Each is empty without a proxy of its kind.
func (s Spec) proxyAddresses() (plain, secure string) {
	if s.HasProxy() {
		plain = fmt.Sprintf("http://%s:%d", s.proxyIP(), proxyPort)
	}
	if s.SecureProxy {
		secure = fmt.Sprintf("https://%s:%d", s.proxyIP(), secureProxyPort)
	}
	return plain, secure
}

// proxyState is this process's state of the proxy.
type proxyState struct {
	mu sync.Mutex
	// userData is the same in each attempt to launch the instance.
	userData string
	// ca are the certificate authorities of the proxy that exists, in PEM.
	ca string
}

// ProxyCA returns the certificate authority of a secure proxy in PEM, after the graph was applied.
func (c *Cloud) ProxyCA() string {
	c.proxy.mu.Lock()
	defer c.proxy.mu.Unlock()
	return c.proxy.ca
}

func (b builder) proxyNodes() []*rg.Node {
	zone := b.Zones[0]
	return b.machines.Nodes(machine.Machine{
		Node: proxyNode, GroupNode: proxyGroup,
		Name: b.InfraID + "-http-proxy", GroupName: b.InfraID + "-proxy-sg", GroupDescription: "Proxy of the nodes",
		VPC: func(ids rg.IDs) string { return ids(VPC) }, Subnet: func(ids rg.IDs) string { return ids(publicSubnet(zone)) },
		GroupPlace: []string{VPC}, Place: []string{publicSubnet(zone)},
		// The instance installs the proxy when it starts.
		DependsOn: []string{"public-route", "public-association/" + zone},
		Ingress:   b.proxyIngress(),
		Arch:      "amd64", Type: proxyType, Address: b.proxyIP(), PublicAddress: true,
		UserData: b.proxyUserData, Observe: b.observeProxy, Attributes: rg.Attributes{listeners: b.proxyListeners()},
	})
}

// proxyIngress lets only the VPC connect.
func (b builder) proxyIngress() []securitygroup.Rule {
	last := int32(proxyPort)
	if b.SecureProxy {
		last = secureProxyPort
	}
	return []securitygroup.Rule{{Protocol: "tcp", From: proxyPort, To: last, Source: b.VPCCIDR.Masked()}}
}

// The scripts have placeholders in the form @NAME@. They are no templates of Go: one use of text/template, which finds methods by
// their names, makes the linker keep every method of the program, which doubles its size.
var (
	//go:embed proxy.sh
	proxyScript string
	//go:embed proxytls.sh
	proxyTLSScript string
)

// proxyUserData returns the script that installs the proxy. The script of a secure proxy contains its private key; the key of the
// authority that signs its certificate is not kept.
func (b builder) proxyUserData() (string, error) {
	b.proxy.mu.Lock()
	defer b.proxy.mu.Unlock()
	if b.proxy.userData != "" {
		return b.proxy.userData, nil
	}
	var tlsPort, tls string
	if b.SecureProxy {
		now := b.clock.Now()
		authority, err := pki.NewAuthority(b.InfraID+"-proxy", now)
		if err != nil {
			return "", err
		}
		leaf, err := authority.Issue(pki.Request{User: b.InfraID + "-http-proxy", Usage: pki.Server, Hosts: []string{b.proxyIP()}}, pki.Terms{Validity: proxyValidity}, now)
		if err != nil {
			return "", err
		}
		tlsPort = fmt.Sprintf("https_port %d tls-cert=/etc/squid/proxy.crt tls-key=/etc/squid/proxy.key\n", secureProxyPort)
		tls = strings.NewReplacer("@KEY@\n", string(leaf.KeyPEM), "@CERTIFICATE@\n", string(leaf.CertPEM)+string(pki.Bundle(authority.Certificate))).Replace(proxyTLSScript)
	}
	b.proxy.userData = strings.NewReplacer("@INFRA_ID@", b.InfraID, "@LISTENERS@", b.proxyListeners(), "@PORT@", strconv.Itoa(proxyPort), "@CLIENTS@", b.VPCCIDR.String(),
		"@TLS_PORT@\n", tlsPort, "@TLS@\n", tls).Replace(proxyScript)
	return b.proxy.userData, nil
}

// observeProxy reads the user data of the proxy that exists.
func (b builder) observeProxy(userData string) rg.Attributes {
	b.proxy.mu.Lock()
	defer b.proxy.mu.Unlock()
	b.proxy.ca = authorities(userData)
	for line := range strings.Lines(userData) {
		if value, ok := strings.CutPrefix(line, "# listeners: "); ok {
			return rg.Attributes{listeners: strings.TrimSpace(value)}
		}
	}
	return nil
}

// authorities returns the certificate authorities in a text, in PEM.
func authorities(text string) string {
	var found []*x509.Certificate
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil && cert.IsCA {
			found = append(found, cert)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return string(pki.Bundle(found...))
}
