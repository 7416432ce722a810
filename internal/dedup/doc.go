// Package dedup reduces the memory of a cache: equal parts of its objects are stored once.
package dedup
