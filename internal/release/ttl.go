package release

import "time"

const (
	// tagTTL is how long the digest of a tag is cached. Tags of releases are hardly ever moved, and a moved tag need not
	// reach running clusters at once.
	tagTTL = time.Hour
	// failureTTL limits how often a failed request is repeated by all callers together: the clusters of an installation share
	// few images.
	failureTTL = 15 * time.Second
	// wait is sufficient for a payload as its tools write it, which is one layer of some megabytes.
	wait = 5 * time.Second
	// downloadTimeout is the limit for one download, including layers.
	downloadTimeout = 2 * time.Minute

	// maxDownloads is how many payloads are read at a time, so that tenants with many large ones do not exhaust memory and
	// network of the operator.
	maxDownloads = 8

	// maxAnswers and maxContents are many more than an installation has releases. A content has about 50 kB, and a malicious
	// one at most the maximum size of its files.
	maxAnswers  = 4096
	maxContents = 64
)
