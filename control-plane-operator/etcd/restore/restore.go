// Package restore fetches the snapshot that the etcd of a hosted cluster is to
// begin with. It runs before etcdutl, which unpacks what it finds.
//
//	url ─► snapshot.db.part ─► is it whole? ─► snapshot.db
//	                              ▲
//	#sha256=… of the url, or else <url>.sha256 beside it
//
// Whatever is said about the checksum here, etcdutl looks at the one that etcd
// has put at the end of each snapshot.
package restore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
)

// Command is the name of the subcommand.
const Command = "etcd-restore"

// Fetcher fetches a snapshot.
type Fetcher struct {
	// URL of the snapshot, https or s3, with #sha256=… if its checksum is known.
	URL string
	// File is where it goes, and Restored where one was unpacked to that is of no use any more.
	File, Restored string
	Client         *http.Client
	Clock          clock.WithDelayedExecution
}

// Parse reads the arguments after the name of the subcommand.
func Parse(args []string) (*Fetcher, error) {
	f := &Fetcher{File: etcd.SnapshotFile, Restored: etcd.RestoredDir, Clock: clock.RealClock{}, Client: &http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 30 * time.Second,
	}}}
	fs := flag.NewFlagSet(Command, flag.ContinueOnError)
	fs.StringVar(&f.URL, "url", "", "where the snapshot is: https://… or s3://bucket/key, with #sha256=… to check it")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if f.URL == "" {
		return nil, errors.New("--url is missing")
	}
	return f, nil
}

// Run fetches the snapshot. One that is not what it should be is not left behind.
func (f *Fetcher) Run(ctx context.Context) error {
	src, err := parse(f.URL)
	if err != nil {
		return err
	}
	// An attempt that was interrupted would be in the way of the next.
	if err := os.RemoveAll(f.Restored); err != nil {
		return fmt.Errorf("removing an earlier restore: %w", err)
	}
	want, err := f.expected(ctx, src)
	if err != nil {
		return err
	}
	part := f.File + ".part"
	defer os.Remove(part)
	got, err := f.download(ctx, src, part)
	if err != nil {
		return err
	}
	if want != "" && want != got {
		return fmt.Errorf("the snapshot at %s has the SHA-256 checksum %s, and should have %s: it is not used", src, got, want)
	}
	if err := os.Rename(part, f.File); err != nil {
		return fmt.Errorf("putting the snapshot in place: %w", err)
	}
	logr.FromContextOrDiscard(ctx).Info("Fetched the snapshot", "from", src.String(), "sha256", got, "expected", want != "")
	return nil
}

func (f *Fetcher) download(ctx context.Context, src source, file string) (checksum string, err error) {
	body, err := f.get(ctx, src.url)
	if err != nil {
		return "", fmt.Errorf("fetching the snapshot from %s: %w", src, err)
	}
	defer body.Close()
	out, err := os.Create(file)
	if err != nil {
		return "", fmt.Errorf("writing the snapshot: %w", err)
	}
	defer out.Close()
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(out, sum), body); err != nil {
		return "", fmt.Errorf("fetching the snapshot from %s: %w", src, err)
	}
	if err := errors.Join(out.Sync(), out.Close()); err != nil {
		return "", fmt.Errorf("writing the snapshot: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// expected is the checksum that the snapshot must have, empty if nobody says.
func (f *Fetcher) expected(ctx context.Context, src source) (string, error) {
	if src.checksum != "" || src.url.RawQuery != "" { // a signature in the query is for the snapshot alone
		return src.checksum, nil
	}
	beside := src.url
	beside.Path += ".sha256"
	body, err := f.get(ctx, beside)
	var refused *refusal
	if errors.As(err, &refused) && (refused.code == http.StatusNotFound || refused.code == http.StatusForbidden) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("fetching the checksum of the snapshot from %s.sha256: %w", src, err)
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, 1<<10))
	if err != nil {
		return "", fmt.Errorf("fetching the checksum of the snapshot from %s.sha256: %w", src, err)
	}
	sum, _, _ := strings.Cut(strings.TrimSpace(string(text)), " ") // as sha256sum writes it
	return checked(sum, src.String()+".sha256")
}

// A refusal is an answer other than what was asked for.
type refusal struct {
	code   int
	status string
}

func (r *refusal) Error() string {
	if r.code == http.StatusForbidden || r.code == http.StatusUnauthorized {
		return "the server says " + r.status + ": it must be readable without credentials, such as by a presigned URL"
	}
	return "the server says " + r.status
}

func (f *Fetcher) get(ctx context.Context, u url.URL) (io.ReadCloser, error) {
	ctx, s := listen(ctx, f.Clock)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := f.Client.Do(req)
	var inURL *url.Error
	if errors.As(err, &inURL) {
		err = inURL.Err // the whole of it has the URL, and so a signature that opens what is there
	}
	if err != nil {
		err = s.cause(err)
		s.end()
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		s.end()
		return nil, &refusal{code: resp.StatusCode, status: resp.Status}
	}
	s.body = resp.Body
	return s, nil
}
