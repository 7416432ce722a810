package hostedcluster

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

	"github.com/hosted-control-planes/hypershift/internal/kubeconfig"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// each judges the value of every key by itself. It is for references with one key.
func each(fault func([]byte) error) func(map[string][]byte) error {
	return func(data map[string][]byte) error {
		for _, key := range slices.Sorted(maps.Keys(data)) {
			if err := fault(data[key]); err != nil {
				return fmt.Errorf("its key %s: %w", key, err)
			}
		}
		return nil
	}
}

// None of these repeats a part of a value: it may be a secret.

func faultOfPullSecret(text []byte) error {
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

// faultOfSSHKey wants a line of an authorized_keys file: the name of the
// algorithm, and a key that begins with the same name.
func faultOfSSHKey(text []byte) error {
	if bytes.Contains(text, []byte("PRIVATE KEY")) {
		return errors.New("it is a private key: put the public one there")
	}
	for _, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		fields := bytes.Fields(line)
		if len(fields) < 2 {
			return errors.New("it is not a public key: write it like ssh-ed25519 AAAA... comment")
		}
		key, err := base64.StdEncoding.DecodeString(string(fields[1]))
		if err != nil || len(key) < 4 || uint64(len(key)-4) < uint64(binary.BigEndian.Uint32(key)) || !bytes.Equal(key[4:4+binary.BigEndian.Uint32(key)], fields[0]) {
			return errors.New("it is not a public key: write it like ssh-ed25519 AAAA... comment")
		}
	}
	return nil
}

// faultOfKubeconfig refuses what would run a program or read a file beside
// kube-apiserver, and a server to which its requests would go in the clear.
func faultOfKubeconfig(text []byte) error {
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

func faultOfBundle(text []byte) error {
	_, err := pki.ParseBundle(text)
	return err
}

// aesKeySize is what AES-256 takes.
const aesKeySize = 32

func faultOfAESKey(key []byte) error {
	if len(key) != aesKeySize {
		return fmt.Errorf("it has %d bytes and must have %d", len(key), aesKeySize)
	}
	return nil
}

func faultOfEtcdClient(data map[string][]byte) error {
	if _, err := tls.X509KeyPair(data[etcdCertKey], data[etcdKeyKey]); err != nil {
		return fmt.Errorf("%s and %s are not a certificate and its key: %w", etcdCertKey, etcdKeyKey, err)
	}
	if _, err := pki.ParseBundle(data[etcdCAKey]); err != nil {
		return fmt.Errorf("its key %s: %w", etcdCAKey, err)
	}
	return nil
}
