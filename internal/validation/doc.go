// Package validation checks the specs and annotations of HostedClusters and
// NodePools without any other source of information: each function is pure,
// takes the part of the object that it checks, and returns every error that it
// finds.
//
// The CRDs reject most of these errors. An error that passes the CRDs was written
// before a rule existed, or needs more than one field or object to detect.
//
// Detail of a field.Error is the complete sentence that a user reads in a condition, with the remedy. Origin is the reason of that
// condition.
package validation
