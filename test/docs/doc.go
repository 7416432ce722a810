// Package docs checks that the documents name only existing things: objects, flags, fields, conditions, reasons, annotations, metrics,
// files, tests, make targets. The tests read the repository as text, and need no cluster.
//
//	page_test.go        cuts a document into prose, code spans and code blocks
//	vocabulary_test.go  existing names: read from the sources, CRDs, manifests, the chart and the Makefile
//	foreign_test.go     names of Kubernetes, AWS and tools that documents may use, by origin
//	check_test.go       the names in a document, and the tests
package docs
