// Package restore downloads the snapshot that the etcd of a hosted cluster begins with. It runs before etcdutl, which
// unpacks the snapshot.
//
//	data or an unpacked snapshot on the volume ─► nothing to do
//	else: url ─► snapshot.db.part ─► checksum ─► snapshot.db, snapshot.db.sha256
//	                                    ▲
//	      #sha256=… of the URL, or else the content of <url>.sha256
//
// The URL is an argument, or in the Restore of a backup. Data counts then only if it is of the same restore. Older data stays on the
// volume until the snapshot is unpacked.
//
// The URL is read only when there is no data, because a presigned URL may have expired.
//
// Without a published checksum the snapshot is used unchecked. etcdutl verifies the checksum that etcd appends to each
// snapshot. Members with different snapshots do not form a cluster, see package unpack.
//
// The program that unpacks the snapshot is copied as well: etcd's image has etcdutl, but no program that checks whether
// a restore is needed.
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
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/datadir"
	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
)

// Command is the name of the subcommand.
const Command = "etcd-restore"

// Fetcher downloads a snapshot.
type Fetcher struct {
	// URL of the snapshot, https or s3, with #sha256=… if there is a known checksum. Request, if any, is the file of a Restore with the
	// URL, and RestoreFile the copy for the containers that follow.
	URL                  string
	Request, RestoreFile string
	// Name is the member that the program runs for.
	Name string
	// File is the path of the downloaded snapshot, and ChecksumFile the path of its checksum.
	File, ChecksumFile string
	// Data is etcd's data directory, and Restored the directory of an unpacked snapshot.
	Data, Restored string
	// MaxBytes is the largest size of a snapshot.
	MaxBytes int64
	// Unpacker is the program that unpacks the snapshot. It is copied to the directory of File.
	Unpacker string
	Client   *http.Client
	Clock    clock.WithDelayedExecution
}

// Parse reads the arguments after the name of the subcommand.
func Parse(args []string) (*Fetcher, error) {
	f := &Fetcher{File: etcd.SnapshotFile, ChecksumFile: etcd.ChecksumFile, RestoreFile: etcd.RestoreFile, Data: etcd.DataDir, Restored: etcd.RestoredDir, Clock: clock.RealClock{}, Client: &http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 30 * time.Second,
	}}}
	fs := flag.NewFlagSet(Command, flag.ContinueOnError)
	fs.StringVar(&f.URL, "url", "", "URL of the snapshot: https://… or s3://bucket/key, with #sha256=… to check it")
	fs.StringVar(&f.Request, "request", "", "file with the restore of a backup, instead of the URL")
	fs.StringVar(&f.Name, "name", "", "name of the member")
	fs.Int64Var(&f.MaxBytes, "max-bytes", 0, "largest size of the snapshot")
	fs.StringVar(&f.Unpacker, "unpacker", "/usr/bin/sidecar", "program that unpacks the snapshot, which is copied to its directory")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if (f.URL == "") == (f.Request == "") || f.MaxBytes <= 0 {
		return nil, errors.New("--max-bytes and either --url or --request are needed")
	}
	return f, nil
}

// Run downloads the snapshot, unless there is data. It removes a snapshot with a wrong checksum.
func (f *Fetcher) Run(ctx context.Context) error {
	if err := f.copyUnpacker(); err != nil {
		return err
	}
	request, err := f.request()
	if err != nil {
		return err
	}
	if found, err := datadir.Found(f.Data, f.Restored, request.ID); found != "" || err != nil {
		logr.FromContextOrDiscard(ctx).Info("The snapshot is not fetched", "found", found)
		return err
	}
	if request.Member != "" {
		return f.takeOwn(ctx, request.Member)
	}
	src, err := parse(f.URL)
	if f.Request != "" {
		src, err = parseSigned(request.URL)
	}
	if err != nil {
		return err
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
		return fmt.Errorf("the snapshot at %s has the SHA-256 checksum %s, but %s is expected: it is not used", src, got, want)
	}
	logr.FromContextOrDiscard(ctx).Info("Fetched the snapshot", "from", src.String(), "sha256", got, "expected", want != "")
	return f.keep(part, got)
}

// request reads the restore of a backup, and copies it for the containers that follow. Without one it is empty.
func (f *Fetcher) request() (etcdbackup.Restore, error) {
	request, err := etcdbackup.ReadRestore(f.Request)
	if err != nil || f.Request == "" {
		return request, err
	}
	rest := request
	rest.URL = ""                                                             // it grants access to the snapshot
	if err := os.WriteFile(f.RestoreFile, rest.Encode(), 0o644); err != nil { //nolint:gosec // the next container reads it, and may run as another user
		return request, fmt.Errorf("copying the restore: %w", err)
	}
	return request, nil
}

// takeOwn takes the database of the member, which does not run, as the snapshot. Other members join it, and have none.
func (f *Fetcher) takeOwn(ctx context.Context, member string) error {
	log := logr.FromContextOrDiscard(ctx)
	if member != f.Name {
		log.Info("There is no snapshot: the members join another one", "member", member)
		return nil
	}
	in, err := os.Open(filepath.Join(f.Data, "member", "snap", "db"))
	if err != nil {
		return fmt.Errorf("reading the data of %s: %w", member, err)
	}
	defer in.Close()
	part := f.File + ".part"
	defer os.Remove(part)
	got, err := f.write(in, part, fmt.Errorf("the database of %s has more than %d MiB", member, f.MaxBytes>>20))
	if err != nil {
		return fmt.Errorf("copying the data of %s: %w", member, err)
	}
	log.Info("Took the data of the member", "member", member, "sha256", got)
	return f.keep(part, got)
}

// keep gives a complete snapshot its name.
func (f *Fetcher) keep(part, checksum string) error {
	if err := errors.Join(os.Rename(part, f.File), os.WriteFile(f.ChecksumFile, []byte(checksum), 0o644)); err != nil { //nolint:gosec // the next container reads it, and may run as another user
		return fmt.Errorf("putting the snapshot in place: %w", err)
	}
	return nil
}

// copyUnpacker copies the program to the directory of the snapshot. The next container needs it even if there is data,
// because the program checks for data.
func (f *Fetcher) copyUnpacker() error {
	program, err := os.ReadFile(f.Unpacker)
	if err != nil {
		return fmt.Errorf("reading the program that unpacks the snapshot: %w", err)
	}
	to := filepath.Join(filepath.Dir(f.File), filepath.Base(f.Unpacker))
	if err := errors.Join(os.WriteFile(to+".part", program, 0o755), os.Rename(to+".part", to)); err != nil { //nolint:gosec // the next container runs it, and may run as another user
		return fmt.Errorf("copying the program that unpacks the snapshot: %w", err)
	}
	return nil
}

func (f *Fetcher) download(ctx context.Context, src source, file string) (checksum string, err error) {
	body, size, err := f.get(ctx, src.url)
	if err != nil {
		return "", fmt.Errorf("fetching the snapshot from %s: %w", src, err)
	}
	defer body.Close()
	tooLarge := fmt.Errorf("the snapshot at %s has more than %d MiB, more than fits on the volume of a member: "+
		"defragment the source etcd, or create the cluster with a larger spec.etcd.managed.storage.persistentVolume.size", src, f.MaxBytes>>20)
	if size > f.MaxBytes {
		return "", tooLarge
	}
	if checksum, err = f.write(body, file, tooLarge); err != nil && !errors.Is(err, tooLarge) {
		err = fmt.Errorf("fetching the snapshot from %s: %w", src, err)
	}
	return checksum, err
}

// write copies a snapshot to a file, and returns its checksum.
func (f *Fetcher) write(from io.Reader, file string, tooLarge error) (checksum string, err error) {
	out, err := os.Create(file)
	if err != nil {
		return "", fmt.Errorf("writing the snapshot: %w", err)
	}
	defer out.Close()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, sum), io.LimitReader(from, f.MaxBytes+1))
	if err != nil {
		return "", err
	}
	if n > f.MaxBytes {
		return "", tooLarge
	}
	if err := errors.Join(out.Sync(), out.Close()); err != nil {
		return "", fmt.Errorf("writing the snapshot: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// expected returns the checksum that the snapshot must have, or an empty string if none is published. A bucket without
// public listing returns 403 for a missing object. Every other error is returned, because the checksum may exist.
func (f *Fetcher) expected(ctx context.Context, src source) (string, error) {
	if src.checksum != "" || src.url.RawQuery != "" { // a signature in the query is for the snapshot alone
		return src.checksum, nil
	}
	beside := src.url
	beside.Path += ".sha256"
	body, _, err := f.get(ctx, beside)
	var refused *statusError
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
	sum, _, _ := strings.Cut(strings.TrimSpace(string(text)), " ") // the format of sha256sum
	return checked(sum, src.String()+".sha256")
}

// A statusError is a response with an unexpected status.
type statusError struct {
	code   int
	status string
}

func (r *statusError) Error() string {
	if r.code == http.StatusForbidden || r.code == http.StatusUnauthorized {
		return "the server returned " + r.status + ": it must be readable without credentials, such as by a presigned URL"
	}
	return "the server returned " + r.status
}

// get returns the content of the URL and its size, which is -1 if the server does not send it.
func (f *Fetcher) get(ctx context.Context, u url.URL) (io.ReadCloser, int64, error) {
	ctx, s := listen(ctx, f.Clock)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		s.end()
		return nil, 0, withoutURL(err)
	}
	resp, err := f.Client.Do(req)
	if err = withoutURL(err); err != nil {
		err = s.cause(err)
		s.end()
		return nil, 0, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		s.end()
		return nil, 0, &statusError{code: resp.StatusCode, status: resp.Status}
	}
	s.body = resp.Body
	return s, resp.ContentLength, nil
}

// withoutURL returns the error inside an error that contains the URL. The signature in the URL grants access to the snapshot.
func withoutURL(err error) error {
	var inURL *url.Error
	if errors.As(err, &inURL) {
		return inURL.Err
	}
	return err
}
