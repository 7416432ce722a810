// Package upload uploads the verified snapshot of a backup in parts, to presigned URLs.
package upload

import (
	"context"
	"crypto/md5" //nolint:gosec // S3 compares it with the received part, against errors of the transfer
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/backup"
	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
)

// Command is the name of the subcommand.
const Command = "etcd-backup-upload"

const (
	attempts = 5
	// partTimeout is the timeout of one attempt: 100 MiB at less than 1 Mbit/s.
	partTimeout = 15 * time.Minute
)

// An Uploader uploads a snapshot.
type Uploader struct {
	// Dir is the work directory, and Uploads the file with the URLs.
	Dir, Uploads string
	// Message is the file of the termination message, which gets the facts.
	Message string
	Client  *http.Client
	// Pause is the first interval between attempts.
	Pause time.Duration
}

// Parse reads the arguments after the name of the subcommand.
func Parse(args []string) (*Uploader, error) {
	u := &Uploader{Pause: time.Second}
	fs := flag.NewFlagSet(Command, flag.ContinueOnError)
	fs.StringVar(&u.Dir, "dir", etcdbackup.WorkDir, "directory of the snapshot")
	fs.StringVar(&u.Uploads, "uploads", filepath.Join(etcdbackup.UploadsDir, etcdbackup.UploadsKey), "file with the URLs")
	fs.StringVar(&u.Message, "message", "/dev/termination-log", "file for the facts of the snapshot")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	var err error
	u.Client, err = client(os.Getenv("AWS_CA_BUNDLE"))
	return u, err
}

// client trusts the authorities in the bundle, as the SDKs of AWS do, or those of the system.
func client(bundle string) (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if bundle != "" {
		text, err := os.ReadFile(bundle) //nolint:gosec // the environment of our own container
		if err != nil {
			return nil, fmt.Errorf("reading AWS_CA_BUNDLE: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("AWS_CA_BUNDLE: %s has no certificate", bundle)
		}
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
	}
	return &http.Client{Transport: transport, Timeout: partTimeout}, nil
}

// Run uploads the snapshot.
func (u *Uploader) Run(ctx context.Context) error {
	facts, err := backup.ReadFacts(u.Dir)
	if err != nil {
		return err
	}
	if !facts.Verified {
		return errors.New("the snapshot is not verified: it is not uploaded")
	}
	to, err := u.targets()
	if err != nil {
		return err
	}
	if n := (facts.SizeBytes + to.PartBytes - 1) / to.PartBytes; n > int64(len(to.URLs)) {
		return fmt.Errorf("the snapshot has %d bytes, but there are only %d parts of %d bytes", facts.SizeBytes, len(to.URLs), to.PartBytes)
	}
	file, err := os.Open(backup.Snapshot(u.Dir))
	if err != nil {
		return fmt.Errorf("opening the snapshot: %w", err)
	}
	defer file.Close()
	for i, offset := 0, int64(0); offset < facts.SizeBytes; i, offset = i+1, offset+to.PartBytes {
		part := io.NewSectionReader(file, offset, min(to.PartBytes, facts.SizeBytes-offset))
		if err := u.upload(ctx, to.URLs[i], part); err != nil {
			return fmt.Errorf("uploading part %d: %w", i+1, err)
		}
	}
	logr.FromContextOrDiscard(ctx).Info("Uploaded the snapshot", "bytes", facts.SizeBytes)
	if err := os.WriteFile(u.Message, facts.Encode(), 0o644); err != nil { //nolint:gosec // the kubelet reads it
		return fmt.Errorf("writing the termination message: %w", err)
	}
	return nil
}

func (u *Uploader) targets() (etcdbackup.Uploads, error) {
	var to etcdbackup.Uploads
	text, err := os.ReadFile(u.Uploads)
	if err != nil {
		return to, fmt.Errorf("reading the URLs: %w", err)
	}
	if err := json.Unmarshal(text, &to); err != nil || to.PartBytes <= 0 {
		return to, fmt.Errorf("%s has no URLs", u.Uploads)
	}
	return to, nil
}

// upload uploads one part, and repeats it after an error that may pass.
func (u *Uploader) upload(ctx context.Context, to string, part *io.SectionReader) error {
	sum := md5.New() //nolint:gosec // see the import
	if _, err := io.Copy(sum, part); err != nil {
		return fmt.Errorf("reading the snapshot: %w", err)
	}
	checksum := base64.StdEncoding.EncodeToString(sum.Sum(nil))
	pause := u.Pause
	for attempt := 1; ; attempt++ {
		final, err := u.put(ctx, to, part, checksum)
		if err == nil || final || attempt == attempts {
			return err
		}
		logr.FromContextOrDiscard(ctx).Error(err, "Trying again", "after", pause)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		pause *= 2
	}
}

// put makes one attempt. final is true if another one would have the same result.
func (u *Uploader) put(ctx context.Context, to string, part *io.SectionReader, checksum string) (final bool, err error) {
	if _, err := part.Seek(0, io.SeekStart); err != nil {
		return true, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, to, io.NopCloser(part))
	if err != nil {
		return true, withoutURL(err)
	}
	req.ContentLength = part.Size()
	req.Header.Set("Content-MD5", checksum)
	resp, err := u.Client.Do(req)
	if err != nil {
		return false, withoutURL(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err != nil {
		return false, err
	}
	if resp.StatusCode == http.StatusOK {
		return true, nil
	}
	refused := fmt.Errorf("S3 returned %s: %s", resp.Status, text)
	return resp.StatusCode == http.StatusForbidden || resp.StatusCode == http.StatusNotFound, refused
}

// withoutURL returns the error inside an error that contains the URL. The signature of the URL permits the upload.
func withoutURL(err error) error {
	var inURL *url.Error
	if errors.As(err, &inURL) {
		return inURL.Err
	}
	return err
}
