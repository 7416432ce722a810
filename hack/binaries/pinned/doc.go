// Package pinned builds third-party servers from pinned Go modules into a cache directory.
//
//	table (binary -> module directory, package, flags)
//	   -> key: version + hash of everything that decides the result
//	   -> <cache>/bin/<module>-<key>/<binary>, built if missing, under a file lock; one call of go build for each module
//
// Each module directory next to this package is a Go module of its own, because the servers need dependencies of different
// versions. A changed pin gets a new key and therefore a new file: a stale binary is never used, and two checkouts with
// different pins can share one cache.
package pinned
