package oidc

import (
	"net/url"
	"regexp"
	"strings"
)

// A Location is where S3 serves the documents of an issuer.
type Location struct {
	// Bucket is empty if the host of the URL is not S3.
	Bucket string
	// Region is empty if the URL does not contain one.
	Region string
	Prefix string
}

// s3Host matches the host names of S3, with or without a bucket.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/VirtualHosting.html
var s3Host = regexp.MustCompile(`^(?:(.+)\.)?s3(?:[.-]dualstack)?(?:[.-]([a-z]{2}(?:-[a-z]+)+-[0-9]+))?\.amazonaws\.com(?:\.cn)?$`)

// ParseIssuer returns the location to which the URL of an issuer refers.
func ParseIssuer(issuer string) Location {
	u, err := url.Parse(issuer)
	if err != nil {
		return Location{}
	}
	l := Location{Prefix: strings.Trim(u.Path, "/")}
	m := s3Host.FindStringSubmatch(u.Hostname())
	if m == nil {
		return l
	}
	l.Bucket, l.Region = m[1], m[2]
	if l.Bucket == "" {
		l.Bucket, l.Prefix, _ = strings.Cut(l.Prefix, "/")
	}
	return l
}

// IsIn reports whether the location is in a bucket.
func (l Location) IsIn(bucket, region string) bool {
	return l.Bucket == bucket && (l.Region == "" || l.Region == region)
}
