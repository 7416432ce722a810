// Package webhookcertificate writes the certificate that Cluster API and its provider need to start. No API server calls their
// webhooks, and no client verifies the certificate, so that each pod makes its own, and no Secret contains the key.
package webhookcertificate

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// Command is the name of the subcommand.
const Command = "webhook-certificate"

// A Writer writes a new certificate and its key.
type Writer struct {
	// Dir is the directory of the files tls.crt and tls.key. Only the containers of the pod read it, and each may have a user of
	// its own.
	Dir string
}

// Parse reads the arguments after the name of the subcommand.
func Parse(args []string) (*Writer, error) {
	w := &Writer{}
	fs := flag.NewFlagSet(Command, flag.ContinueOnError)
	fs.StringVar(&w.Dir, "dir", "", "directory of the files tls.crt and tls.key")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if w.Dir == "" {
		return nil, errors.New("--dir is needed")
	}
	return w, nil
}

// Run writes both files.
func (w *Writer) Run(context.Context) error {
	certificate, key, err := generate()
	if err != nil {
		return fmt.Errorf("generating a certificate: %w", err)
	}
	for name, block := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: certificate}, "tls.key": {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(filepath.Join(w.Dir, name), pem.EncodeToMemory(block), 0o644); err != nil { //nolint:gosec // a container of the pod reads it, which may run as another user
			return err
		}
	}
	return nil
}

// generate returns a certificate that does not expire, and its key, in DER.
func generate() (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "webhooks that are not called"},
		NotBefore:    time.Unix(0, 0),
		NotAfter:     time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC), // RFC 5280: no expiry
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if certificate, err = x509.CreateCertificate(rand.Reader, template, template, private.Public(), private); err != nil {
		return nil, nil, err
	}
	key, err = x509.MarshalPKCS8PrivateKey(private)
	return certificate, key, err
}
