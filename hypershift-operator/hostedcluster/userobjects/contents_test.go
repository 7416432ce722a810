package userobjects

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"
)

const (
	somePublicKey  = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGRlbW9kZW1vZGVtb2RlbW9kZW1vZGVtb2RlbW9kZW1v me@example.com"
	someKubeconfig = `{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: b, user: c}}], clusters: [{name: b, cluster: {server: "https://audit.example.com"}}], users: [{name: c, user: {token: secret}}]}`
)

// asUser is a kubeconfig with another user.
func asUser(user string) string { return strings.Replace(someKubeconfig, "token: secret", user, 1) }

// certificate is a self-signed one for these names, and its key.
func certificate(until time.Time, hosts ...string) (cert, key []byte) {
	must := func(err error) {
		if err != nil {
			panic(err) // the input is constant
		}
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: hosts,
		NotBefore: until.Add(-24 * time.Hour), NotAfter: until, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	must(err)
	text, err := x509.MarshalPKCS8PrivateKey(private)
	must(err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})
}

func TestContents(t *testing.T) {
	cert, key := certificate(time.Now().Add(time.Hour))
	for name, tc := range map[string]struct {
		fault func([]byte) error
		value string
		says  string // empty for a value that is fine
	}{
		"a pull secret":                              {validatePullSecret, `{"auths":{"quay.io":{"auth":"eDp5"}}}`, ""},
		"a pull secret that is text":                 {validatePullSecret, "secret", "not JSON"},
		"a pull secret in the old format":            {validatePullSecret, `{"quay.io":{"auth":"eDp5"}}`, `no "auths"`},
		"a public key":                               {validateSSHKey, somePublicKey, ""},
		"two public keys":                            {validateSSHKey, somePublicKey + "\n" + somePublicKey + "\n", ""},
		"a private key in the place of a public one": {validateSSHKey, string(key), "it is a private key"},
		"a name in the place of a key":               {validateSSHKey, "my-key", "not a public key"},
		"a public key that was cut":                  {validateSSHKey, "ssh-ed25519 AAAAC3Nz", "not a public key"},
		"a public key of another kind than it says":  {validateSSHKey, strings.Replace(somePublicKey, "ssh-ed25519", "ssh-rsa", 1), "not a public key"},
		"a kubeconfig":                               {validateKubeconfig, someKubeconfig, ""},
		"a kubeconfig that is text":                  {validateKubeconfig, "secret", "cannot be read as a kubeconfig"},
		"a kubeconfig that leads nowhere":            {validateKubeconfig, strings.Replace(someKubeconfig, "current-context: a", "current-context: x", 1), "cannot be read as a kubeconfig with a current context"},
		"a kubeconfig without a server":              {validateKubeconfig, strings.Replace(someKubeconfig, `server: "https://audit.example.com"`, "", 1), "cannot be read as a kubeconfig"},
		"a kubeconfig whose server speaks HTTP":      {validateKubeconfig, strings.Replace(someKubeconfig, "https:", "http:", 1), "not an https URL"},
		"a kubeconfig whose server is only a host":   {validateKubeconfig, strings.Replace(someKubeconfig, "https://", "", 1), "not an https URL"},
		"a kubeconfig that runs a program":           {validateKubeconfig, asUser(`exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/sh, args: [-c, id], interactiveMode: Never}`), "relies on files or programs"},
		"a kubeconfig that uses a plugin":            {validateKubeconfig, asUser(`auth-provider: {name: oidc}`), "relies on files or programs"},
		"a kubeconfig that reads a token":            {validateKubeconfig, asUser(`tokenFile: /etc/kubernetes/service-account/service-account.key`), "relies on files or programs"},
		"a kubeconfig that uses a key of ours":       {validateKubeconfig, asUser(`client-certificate: /etc/kubernetes/aggregator/tls.crt, client-key: /etc/kubernetes/aggregator/tls.key`), "relies on files or programs"},
		"a trust bundle":                             {validateBundle, "# ours\n" + string(cert) + string(cert), ""},
		"a trust bundle that is empty":               {validateBundle, "# none", "no certificate"},
		"a trust bundle with a key in it":            {validateBundle, string(cert) + string(key), "type PRIVATE KEY"},
		"a trust bundle that was cut":                {validateBundle, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "certificate 1"},
		"an AES key":                                 {validateAESKey, strings.Repeat("k", 32), ""},
		"an AES key in base64":                       {validateAESKey, strings.Repeat("k", 44), "44 bytes and must have 32"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.fault([]byte(tc.value))
			switch {
			case err == nil && tc.says != "":
				t.Errorf("accepted, and should say %q", tc.says)
			case err != nil && (tc.says == "" || !strings.Contains(err.Error(), tc.says)):
				t.Errorf("it says %q, not %q", err, tc.says)
			case err != nil && strings.Contains(err.Error(), "secret"):
				t.Errorf("it repeats a part of the value: %q", err)
			}
		})
	}
}

func TestNamedCertificateOfTheUser(t *testing.T) {
	own := []string{"api.example.com", "kubernetes"}
	for name, tc := range map[string]struct {
		listed, hosts []string
		says          string
	}{
		"for a name of the user's":                        {nil, []string{"my.example.org"}, ""},
		"for one of ours":                                 {nil, []string{"api.example.com"}, "is for api.example.com"},
		"for one of ours, by a wildcard":                  {nil, []string{"*.Example.com"}, "is for api.example.com"},
		"for one of ours beside others, and not used for": {[]string{"my.example.org"}, []string{"api.example.com", "my.example.org"}, ""},
		"whose wildcard does not reach ours":              {nil, []string{"*.com"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cert, key := certificate(time.Now().Add(time.Hour), tc.hosts...)
			err := servingCertificate(tc.listed, own)(map[string][]byte{"tls.crt": cert, "tls.key": key})
			if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want %q", err, tc.says)
			}
		})
	}
	t.Run("with another key", func(t *testing.T) {
		cert, _ := certificate(time.Now().Add(time.Hour))
		_, key := certificate(time.Now().Add(time.Hour))
		if err := servingCertificate(nil, nil)(map[string][]byte{"tls.crt": cert, "tls.key": key}); err == nil {
			t.Error("accepted")
		}
	})
}
