package release

import "time"

const (
	// tagTTL is how long a tag is believed to point where it did. Tags of releases are hardly ever moved, and who moves one does
	// not expect running clusters to follow at once.
	tagTTL = time.Hour
	// failureTTL spreads a failure over all who ask: the clusters of an installation share few images.
	failureTTL = 15 * time.Second
	// wait is enough for a payload as its tools make it, which is one layer of some megabytes.
	wait = 5 * time.Second
	// patience is how long one reading may take, layers included.
	patience = 2 * time.Minute

	// maxDownloads is how many payloads are read at a time, so that tenants with many large ones do not fill memory and network of
	// the operator.
	maxDownloads = 8

	// maxAnswers and maxContents are many more than an installation has releases. A content is some 50 kB, and one that was made
	// to fill our memory as large as its files may be.
	maxAnswers  = 4096
	maxContents = 64
)
