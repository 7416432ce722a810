package supervisor

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// life of everything here is longer than that of any lab.
const life = 365 * 24 * time.Hour

// pki makes the certificates of the management cluster, as files. One authority is enough where all clients are ours.
type pki struct {
	dir  string
	ca   *x509.Certificate
	key  crypto.Signer
	last int64 // serial number
}

func newPKI(dir string) (*pki, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making certificates: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making certificates: %w", err)
	}
	p := &pki{dir: dir, key: key, last: 1}
	if p.ca, err = certutil.NewSelfSignedCACert(certutil.Config{CommonName: "lab"}, key); err != nil {
		return nil, fmt.Errorf("making certificates: %w", err)
	}
	return p, p.save("ca", p.ca.Raw, key)
}

func (p *pki) cert(name string) string  { return filepath.Join(p.dir, name+".crt") }
func (p *pki) keyOf(name string) string { return filepath.Join(p.dir, name+".key") }

// leaf makes a certificate for a client and, where it has names, for a server.
func (p *pki) leaf(name, user, group string, hosts ...string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making the certificate of %s: %w", name, err)
	}
	p.last++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(p.last),
		Subject:      pkix.Name{CommonName: user},
		NotBefore:    p.ca.NotBefore,
		NotAfter:     p.ca.NotBefore.Add(life),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	if group != "" {
		template.Subject.Organization = []string{group}
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
			continue
		}
		template.DNSNames = append(template.DNSNames, host)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, p.ca, key.Public(), p.key)
	if err != nil {
		return fmt.Errorf("making the certificate of %s: %w", name, err)
	}
	return p.save(name, der, key)
}

func (p *pki) save(name string, der []byte, key crypto.PrivateKey) error {
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return fmt.Errorf("making the certificate of %s: %w", name, err)
	}
	certPEM, err := certutil.EncodeCertificates(cert)
	if err != nil {
		return fmt.Errorf("making the certificate of %s: %w", name, err)
	}
	if err := os.WriteFile(p.cert(name), certPEM, 0o644); err != nil {
		return fmt.Errorf("writing the certificate of %s: %w", name, err)
	}
	return p.saveKey(name, key)
}

func (p *pki) saveKey(name string, key crypto.PrivateKey) error {
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err == nil {
		err = os.WriteFile(p.keyOf(name), keyPEM, 0o600)
	}
	if err != nil {
		return fmt.Errorf("writing the key of %s: %w", name, err)
	}
	return nil
}

// serviceAccountKey makes the key that signs tokens.
func (p *pki) serviceAccountKey(name string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return fmt.Errorf("making the key of service accounts: %w", err)
	}
	return p.saveKey(name, key)
}

// kubeconfig makes a certificate for a user, and writes a kubeconfig with it.
func (p *pki) kubeconfig(path, server, user, group string) error {
	name := filepath.Base(path)
	if err := p.leaf(name, user, group); err != nil {
		return err
	}
	config := clientcmdapi.NewConfig()
	info := clientcmdapi.NewAuthInfo()
	cluster := clientcmdapi.NewCluster()
	cluster.Server = server
	for _, part := range []struct {
		file string
		into *[]byte
	}{
		{p.cert("ca"), &cluster.CertificateAuthorityData},
		{p.cert(name), &info.ClientCertificateData},
		{p.keyOf(name), &info.ClientKeyData},
	} {
		text, err := os.ReadFile(part.file)
		if err != nil {
			return fmt.Errorf("writing kubeconfig %s: %w", path, err)
		}
		*part.into = text
	}
	config.Clusters["lab"], config.AuthInfos["lab"] = cluster, info
	config.Contexts["lab"] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: "lab"}
	config.CurrentContext = "lab"
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("writing kubeconfig %s: %w", path, err)
	}
	return nil
}
