package supervisor

import (
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/keyutil"

	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// authority is the CA of a management cluster, with its certificates as files. One CA is enough, because the lab creates
// all clients.
type authority struct {
	dir    string
	signer *pki.Signer
}

// ca is the name of the CA's own files.
const ca = "ca"

func newAuthority(dir, name string) (*authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making certificates: %w", err)
	}
	signer, err := pki.NewSigner(name, "", time.Now())
	if err != nil {
		return nil, fmt.Errorf("making certificates: %w", err)
	}
	data, err := signer.Data()
	if err != nil {
		return nil, fmt.Errorf("making certificates: %w", err)
	}
	a := &authority{dir: dir, signer: signer}
	return a, a.write(ca, data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
}

func (a *authority) cert(name string) string { return filepath.Join(a.dir, name+".crt") }
func (a *authority) key(name string) string  { return filepath.Join(a.dir, name+".key") }

func (a *authority) write(name string, cert, key []byte) error {
	if err := os.WriteFile(a.cert(name), cert, 0o644); err != nil {
		return fmt.Errorf("writing the certificate of %s: %w", name, err)
	}
	if err := os.WriteFile(a.key(name), key, 0o600); err != nil {
		return fmt.Errorf("writing the key of %s: %w", name, err)
	}
	return nil
}

// leaf creates a certificate for clients and servers.
func (a *authority) leaf(name string, want pki.Request) error {
	leaf, err := a.issue(want)
	if err != nil {
		return err
	}
	return a.write(name, leaf.CertPEM, leaf.KeyPEM)
}

func (a *authority) issue(want pki.Request) (*pki.Leaf, error) {
	want.Usage = pki.Client
	if len(want.Hosts) > 0 {
		want.Usage |= pki.Server
	}
	return a.signer.Current.Issue(want, pki.DefaultTerms, time.Now())
}

// kubeconfig writes a kubeconfig for a user of its management cluster.
func (a *authority) kubeconfig(path, server, user string, groups ...string) error {
	leaf, err := a.issue(pki.Request{User: user, Groups: groups})
	if err != nil {
		return err
	}
	text, err := pki.Kubeconfig(server, a.signer.Trust(), leaf)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("writing the kubeconfig of %s: %w", user, err)
	}
	return nil
}

// serviceAccountKey creates the key that signs service account tokens.
func (a *authority) serviceAccountKey(name string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return fmt.Errorf("making the key of service accounts: %w", err)
	}
	text, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err == nil {
		err = os.WriteFile(a.key(name), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("writing the key of service accounts: %w", err)
	}
	return nil
}
