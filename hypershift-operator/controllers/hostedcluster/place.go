package hostedcluster

import (
	"net/url"
	"regexp"
	"strings"
)

// A place is where S3 serves the documents of an issuer.
type place struct {
	// bucket is empty if S3 does not serve the URL itself.
	bucket string
	// region is empty if the URL leaves it to S3.
	region string
	prefix string
}

// s3Host matches the host names of S3, with a bucket in front or without.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/VirtualHosting.html
var s3Host = regexp.MustCompile(`^(?:(.+)\.)?s3(?:[.-]dualstack)?(?:[.-]([a-z]{2}(?:-[a-z]+)+-[0-9]+))?\.amazonaws\.com(?:\.cn)?$`)

// placeOf reads the URL of an issuer.
func placeOf(issuer string) place {
	u, err := url.Parse(issuer)
	if err != nil {
		return place{}
	}
	p := place{prefix: strings.Trim(u.Path, "/")}
	m := s3Host.FindStringSubmatch(u.Hostname())
	if m == nil {
		return p
	}
	p.bucket, p.region = m[1], m[2]
	if p.bucket == "" {
		p.bucket, p.prefix, _ = strings.Cut(p.prefix, "/")
	}
	return p
}

// in says whether the place is in that bucket.
func (p place) in(bucket, region string) bool {
	return p.bucket == bucket && (p.region == "" || p.region == region)
}
