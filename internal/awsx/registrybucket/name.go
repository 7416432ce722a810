package registrybucket

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	// maxName is the maximum length of a bucket's name.
	// Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
	maxName = 63
	infix   = "-image-registry-"
	// digest is the length of the part that other accounts cannot have taken by chance.
	digest = 8
)

// Prefix returns the beginning of the names of a cluster's buckets. The policy image-registry.json of config/iam allows the buckets with it.
func Prefix(infraID string) string {
	return strings.ToLower(infraID[:min(len(infraID), maxName-len(infix)-digest)]) + infix
}

// Name returns the name of the bucket of a cluster. It stays when the cluster moves to another management cluster.
func Name(infraID, clusterID string) string {
	sum := sha256.Sum256([]byte(clusterID))
	return Prefix(infraID) + hex.EncodeToString(sum[:])[:digest]
}
