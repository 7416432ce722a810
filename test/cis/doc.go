// Package cis compares hosted clusters with the CIS Kubernetes Benchmark.
//
//	golden manifests, user data ─► samples.go   the configuration of each component
//	                               checks.go    one condition for a sample
//	                               table.go     the recommendations: check, result, reason
//	                               page.go   ─► docs/cis.md
//
// The test fails if a recommendation that is met no longer is, and if a difference no longer exists. The numbers come from the
// benchmark, the texts do not.
package cis
