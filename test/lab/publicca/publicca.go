// Package publicca is the CA that replaces the public CAs in a lab: the images of the lab trust it, and the emulated services
// of AWS have certificates of it. There is one for each machine, in the cache, so that a layer with it is packed once.
package publicca

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// CA is the CA.
type CA struct {
	// File has its certificate.
	File   string
	signer *pki.Signer
}

// Dir is the directory of the CA of this machine.
func Dir() (string, error) {
	cache, err := pinned.CacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "public-ca"), nil
}

// OfMachine returns the CA of this machine.
func OfMachine() (*CA, error) {
	dir, err := Dir()
	if err != nil {
		return nil, err
	}
	return Open(dir)
}

// Open returns the CA in a directory, and makes it if it does not exist.
func Open(dir string) (*CA, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of the public CA: %w", err)
	}
	state := filepath.Join(dir, "signer.json")
	signer, err := read(state)
	if errors.Is(err, fs.ErrNotExist) {
		if err = create(state); err == nil {
			signer, err = read(state)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading the public CA: %w", err)
	}
	ca := &CA{File: filepath.Join(dir, "ca.crt"), signer: signer}
	if err := replace(ca.File, signer.Trust(), 0o644); err != nil {
		return nil, fmt.Errorf("writing the certificate of the public CA: %w", err)
	}
	return ca, nil
}

// Certificate issues a certificate of a server.
func (c *CA) Certificate(names ...string) (tls.Certificate, error) {
	leaf, err := c.signer.Current.Issue(pki.Request{User: names[0], Hosts: names, Usage: pki.Server}, pki.DefaultTerms, time.Now())
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(leaf.CertPEM, leaf.KeyPEM)
}

func read(path string) (*pki.Signer, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	data := map[string][]byte{}
	if err := json.Unmarshal(text, &data); err != nil {
		return nil, err
	}
	return pki.DecodeSigner(data)
}

// create makes the CA. Of two processes that do so at once, the first one wins.
func create(path string) error {
	signer, err := pki.NewSigner("lab-public", "", time.Now())
	if err != nil {
		return err
	}
	data, err := signer.Data()
	if err != nil {
		return err
	}
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	unfinished, err := write(path, text, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(unfinished)
	if err := os.Link(unfinished, path); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// replace writes a file atomically, unless it has this content.
func replace(path string, text []byte, mode os.FileMode) error {
	if now, err := os.ReadFile(path); err == nil && string(now) == string(text) {
		return nil
	}
	unfinished, err := write(path, text, mode)
	if err != nil {
		return err
	}
	defer os.Remove(unfinished)
	return os.Rename(unfinished, path)
}

// write writes a temporary file in the directory of path.
func write(path string, text []byte, mode os.FileMode) (unfinished string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".unfinished-")
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Chmod(mode), f.Close()); err != nil {
		_ = os.Remove(f.Name()) // of no use
		return "", err
	}
	return f.Name(), nil
}
