package restore

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// A source is the location of a snapshot.
type source struct {
	url      url.URL
	checksum string
}

// String omits the query. It may have a signature that grants access to the snapshot.
func (s source) String() string { return s.url.Scheme + "://" + s.url.Host + s.url.Path }

// parseSigned reads the URL that the operator has signed. Its endpoint of S3 may have no TLS; the checksum protects the content.
func parseSigned(text string) (source, error) {
	u, err := url.Parse(text)
	if err != nil {
		return source{}, errors.New("the signed URL is not a URL")
	}
	s := source{url: *u}
	s.url.Fragment, s.url.RawFragment = "", ""
	if u.Scheme != "https" && u.Scheme != "http" {
		return source{}, fmt.Errorf("the signed URL is %s: it must begin with https:// or http://", s)
	}
	s.checksum, err = checked(strings.TrimPrefix(u.Fragment, "sha256="), "the signed URL")
	return s, err
}

func parse(text string) (source, error) {
	u, err := url.Parse(text)
	if err != nil {
		return source{}, errors.New("restoreSnapshotURL is not a URL")
	}
	s := source{url: *u}
	s.url.Fragment, s.url.RawFragment = "", ""
	switch u.Scheme {
	case "https":
	case "s3":
		if u.Host == "" || u.Path == "" {
			return source{}, fmt.Errorf("restoreSnapshotURL is %s: write it like s3://bucket/key", s)
		}
		s.url.Scheme, s.url.Host = "https", u.Host+".s3.amazonaws.com"
	default:
		return source{}, fmt.Errorf("restoreSnapshotURL is %s: it must begin with https:// or s3://", s)
	}
	if u.Fragment == "" {
		return s, nil
	}
	sum, ok := strings.CutPrefix(u.Fragment, "sha256=")
	if !ok {
		return source{}, fmt.Errorf("restoreSnapshotURL %s ends in #%s: only #sha256=… is supported", s, u.Fragment)
	}
	s.checksum, err = checked(sum, "restoreSnapshotURL")
	return s, err
}

// checked validates the checksum and returns it in lower case.
func checked(sum, where string) (string, error) {
	sum = strings.ToLower(sum)
	if raw, err := hex.DecodeString(sum); err != nil || len(raw) != 32 {
		return "", fmt.Errorf("the checksum in %s is not a SHA-256 checksum: it must have 64 hexadecimal digits", where)
	}
	return sum, nil
}
