package userobjects

import (
	"bytes"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// No error has a part of a value, which may be a secret. An accepted SSH key has no private key.
func FuzzContents(f *testing.F) {
	cert, key := certificate(time.Now().Add(time.Hour), "a.example.com")
	for _, value := range []string{
		`{"auths":{"quay.io":{"auth":"eDp5"}}}`, `{"auths":{}}`, `{"auths":7}`, somePublicKey, somePublicKey + "\n" + somePublicKey, "ssh-ed25519 AAAA", "ssh-rsa /////w==", someKubeconfig,
		asUser("exec: {command: sh, apiVersion: v1}"), string(cert), string(key), strings.Repeat("k", aesKeySize), "-----BEGIN x-----\n-----END x-----", "https://a",
	} {
		f.Add([]byte(value), cert)
	}
	f.Add(cert, key)
	f.Fuzz(func(t *testing.T, value, other []byte) {
		const secret = "hard-to-guess"
		for name, validate := range map[string]func([]byte) error{
			"pull secret": validatePullSecret, "SSH key": validateSSHKey, "kubeconfig": validateKubeconfig, "bundle": validateBundle, "AES key": validateAESKey,
		} {
			for _, text := range [][]byte{value, append([]byte(secret), value...), append(bytes.Clone(value), secret...), bytes.ReplaceAll(value, []byte("a"), []byte(secret))} {
				if err := validate(text); err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("the error of a %s has a part of it: %v", name, err)
				}
			}
		}
		if validateSSHKey(value) == nil && (bytes.Contains(value, []byte("PRIVATE KEY")) || bytes.IndexByte(value, '\n') < 0 && len(bytes.Fields(value)) < 2) {
			t.Errorf("an SSH key is %q", value)
		}
		_ = validateEtcdClient(map[string][]byte{EtcdCertKey: value, EtcdKeyKey: other, EtcdCAKey: value})
		_ = servingCertificate(nil, []string{"a.example.com"})(map[string][]byte{corev1.TLSCertKey: value, corev1.TLSPrivateKeyKey: other})
	})
}
