// Package dedup lets a program with a large cache do with little memory: what
// many objects have in common is kept once, and garbage does not pile up.
package dedup
