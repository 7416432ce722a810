package awsemulator_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/backupbucket"
)

// backups is a bucket with backups.
type backups struct {
	*backupbucket.Bucket
	t       *testing.T
	account string
}

func newBackups(t *testing.T, change ...func(*backupbucket.Options)) *backups {
	t.Helper()
	n := newAccount(t)
	o := backupbucket.Options{Name: "backups-" + n.id, Owner: n.id}
	_, err := n.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &o.Name})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(&o)
	}
	return &backups{Bucket: backupbucket.New(emulator.Config(n.id), o), t: t, account: n.id}
}

func (b *backups) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// put uploads a part as a program without credentials.
func put(ctx context.Context, url string, body []byte, md5sum string) (status int, text string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, url, bytes.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	if md5sum != "" {
		req.Header.Set("Content-MD5", md5sum)
	}
	return exchange(req)
}

func exchange(req *http.Request) (int, string) {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(answer)
}

func sum(body []byte) string {
	s := md5.Sum(body)
	return base64.StdEncoding.EncodeToString(s[:])
}

func TestBackupIsUploadedByPresignedURLs(t *testing.T) {
	b := newBackups(t)
	const key = "prod/cluster/backup.db"
	stale, err := b.Begin(t.Context(), key, "cluster")
	b.must(err)
	id, err := b.Begin(t.Context(), key, "cluster")
	b.must(err)
	if id == stale {
		t.Error("the upload of an earlier attempt is used")
	}
	urls, err := b.PartURLs(t.Context(), key, id, 3, time.Hour)
	b.must(err)
	first, second := bytes.Repeat([]byte("a"), 5<<20), []byte("the end")
	for i, part := range [][]byte{first, second} {
		if status, text := put(t.Context(), urls[i], part, sum(part)); status != http.StatusOK {
			t.Fatalf("part %d: %d %s", i+1, status, text)
		}
	}
	size := int64(len(first) + len(second))
	if got, err := b.Size(t.Context(), key); got != -1 || err != nil {
		t.Errorf("the object has the size %d before it is complete (%v)", got, err)
	}
	if err := b.Complete(t.Context(), key, size+1, "checksum"); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("has %d of %d bytes", size, size+1)) {
		t.Errorf("an incomplete upload: %v", err)
	}
	for range 2 { // it can be repeated
		b.must(b.Complete(t.Context(), key, size, "checksum"))
	}
	url, err := b.ObjectURL(t.Context(), key, time.Hour)
	b.must(err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	b.must(err)
	if status, text := exchange(req); status != http.StatusOK || text != string(first)+string(second) {
		t.Errorf("reading the object: %d, %d bytes", status, len(text))
	}
	b.must(b.Delete(t.Context(), key))
	if got, err := b.Size(t.Context(), key); got != -1 || err != nil {
		t.Errorf("the deleted object has the size %d (%v)", got, err)
	}
	b.must(b.Abort(t.Context(), key))
}

func TestPresignedURLsPermitNothingElse(t *testing.T) {
	b := newBackups(t)
	const key = "prod/cluster/backup.db"
	id, err := b.Begin(t.Context(), key, "cluster")
	b.must(err)
	urls, err := b.PartURLs(t.Context(), key, id, 1, time.Hour)
	b.must(err)
	body := []byte("part")
	for name, c := range map[string]struct {
		url, md5 string
		want     string
	}{
		"another key":           {strings.Replace(urls[0], "backup.db", "other.db", 1), "", "SignatureDoesNotMatch"},
		"another part":          {strings.Replace(urls[0], "partNumber=1", "partNumber=2", 1), "", "SignatureDoesNotMatch"},
		"no signature":          {urls[0][:strings.Index(urls[0], "?")], "", "AccessDenied"},
		"a damaged part":        {urls[0], sum([]byte("another")), "BadDigest"},
		"an upload of no parts": {strings.Replace(urls[0], "&uploadId=", "&other=", 1), "", "SignatureDoesNotMatch"},
	} {
		t.Run(name, func(t *testing.T) {
			if status, text := put(t.Context(), c.url, body, c.md5); status < 400 || !strings.Contains(text, c.want) {
				t.Errorf("got %d %.300s, want %s", status, text, c.want)
			}
		})
	}
	b.must(b.Abort(t.Context(), key))
	if status, text := put(t.Context(), urls[0], body, ""); status != http.StatusNotFound || !strings.Contains(text, "NoSuchUpload") {
		t.Errorf("a part of an aborted upload: %d %.300s", status, text)
	}
}

func TestBucketOfAnotherOwnerIsRefused(t *testing.T) {
	b := newBackups(t, func(o *backupbucket.Options) { o.Owner = "999999999999" })
	if _, err := b.Begin(t.Context(), "key", "cluster"); !awsx.IsDenied(err) {
		t.Errorf("got %v", err)
	}
	missing := newBackups(t, func(o *backupbucket.Options) { o.Name = "missing-" + o.Owner })
	if _, err := missing.Begin(t.Context(), "key", "cluster"); !backupbucket.IsNoBucket(err) {
		t.Errorf("got %v", err)
	}
}

func TestKMSKeyOfABackup(t *testing.T) {
	const arn = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
	b := newBackups(t, func(o *backupbucket.Options) { o.KMSKeyARN = arn })
	id, err := b.Begin(t.Context(), "key", "cluster")
	b.must(err)
	urls, err := b.PartURLs(t.Context(), "key", id, 1, time.Hour)
	b.must(err)
	if status, text := put(t.Context(), urls[0], []byte("x"), ""); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	b.must(b.Complete(t.Context(), "key", 1, "checksum"))
	for _, key := range []string{"key", "key.sha256"} {
		out, err := s3.NewFromConfig(emulator.Config(b.account)).HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &b.Name, Key: &key})
		b.must(err)
		if aws.ToString(out.SSEKMSKeyId) != arn {
			t.Errorf("%s is encrypted with %s", key, aws.ToString(out.SSEKMSKeyId))
		}
	}
}
