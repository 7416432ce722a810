package userobjects

import (
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/hosted-control-planes/hypershift/internal/kubeconfig"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// each validates the value of every key separately.
func each(validate func([]byte) error) func(map[string][]byte) error {
	return func(data map[string][]byte) error {
		for _, key := range slices.Sorted(maps.Keys(data)) {
			if err := validate(data[key]); err != nil {
				return fmt.Errorf("its key %s: %w", key, err)
			}
		}
		return nil
	}
}

// No error of these functions contains a part of a value, which may be a secret.

func validatePullSecret(text []byte) error {
	var file struct {
		Auths map[string]json.RawMessage `json:"auths"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return errors.New("it is not JSON")
	}
	if file.Auths == nil {
		return errors.New(`it has no "auths"`)
	}
	return nil
}

// validateSSHKey accepts lines of an authorized_keys file: the name of the
// algorithm, and a key that begins with the same name.
func validateSSHKey(text []byte) error {
	if bytes.Contains(text, []byte("PRIVATE KEY")) {
		return errors.New("it is a private key: put the public one there")
	}
	for _, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		fields := bytes.Fields(line)
		if len(fields) < 2 {
			return errors.New("it is not a public key: write it like ssh-ed25519 AAAA... comment")
		}
		key, err := base64.StdEncoding.DecodeString(string(fields[1]))
		if err != nil || len(key) < 4 || uint64(len(key)) < 4+uint64(binary.BigEndian.Uint32(key)) || !bytes.Equal(key[4:4+binary.BigEndian.Uint32(key)], fields[0]) {
			return errors.New("it is not a public key: write it like ssh-ed25519 AAAA... comment")
		}
	}
	return nil
}

// validateKubeconfig rejects settings that would run a program or read a file in the container of kube-apiserver, and a server without TLS.
func validateKubeconfig(text []byte) error {
	config, err := kubeconfig.Config(text)
	if err != nil {
		return fmt.Errorf("it %w", err)
	}
	server, err := url.Parse(config.Host)
	if err != nil || server.Scheme != "https" || server.Host == "" {
		return errors.New("its server is not an https URL: write it like https://audit.example.com")
	}
	return nil
}

func validateBundle(text []byte) error {
	_, err := pki.ParseBundle(text)
	return err
}

// aesKeySize is the key size of AES-256.
const aesKeySize = 32

func validateAESKey(key []byte) error {
	if len(key) != aesKeySize {
		return fmt.Errorf("it has %d bytes and must have %d", len(key), aesKeySize)
	}
	return nil
}

func validateEtcdClient(data map[string][]byte) error {
	if _, err := tls.X509KeyPair(data[EtcdCertKey], data[EtcdKeyKey]); err != nil {
		return fmt.Errorf("%s and %s are not a certificate and its key: %w", EtcdCertKey, EtcdKeyKey, err)
	}
	if _, err := pki.ParseBundle(data[EtcdCAKey]); err != nil {
		return fmt.Errorf("its key %s: %w", EtcdCAKey, err)
	}
	return nil
}

// servingCertificate validates the Secret of a named certificate. Without listed
// names the API server uses those in the certificate, which must not be reserved.
func servingCertificate(listed, reserved []string) func(map[string][]byte) error {
	return func(data map[string][]byte) error {
		pair, err := tls.X509KeyPair(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
		if err != nil {
			return fmt.Errorf("%s and %s are not a certificate and its key: %w", corev1.TLSCertKey, corev1.TLSPrivateKeyKey, err)
		}
		if len(listed) > 0 {
			return nil
		}
		if host := pki.FirstCovered(pair.Leaf.DNSNames, reserved); host != "" {
			return fmt.Errorf("the certificate is for %s, under which the nodes expect our own: list the names it is meant for, or take another certificate", host)
		}
		return nil
	}
}
