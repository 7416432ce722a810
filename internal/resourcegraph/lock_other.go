//go:build !unix

package resourcegraph

import "os"

// lockFile does nothing where the system has no flock.
func lockFile(*os.File) error { return nil }
