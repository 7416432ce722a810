// Package cache implements two caches for answers of AWS.
//
//	List    all resources that one paged list returns: the resources of a cluster,
//	        or of an account. It overlays own writes while AWS's lists may lag.
//	Keyed   one answer for each key, with a lifetime of its own.
//
// Both let concurrent callers share one call, hold no lock during a call, and let
// no caller wait longer than its context. Lifetimes are in awsx/ttl.go.
package cache
