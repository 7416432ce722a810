// Command conformance runs Kubernetes' conformance tests on a hosted cluster of a lab, which it starts unless one runs:
//
//	go -C test/lab build -o ../../bin/ ./conformance
//	bin/conformance [-version 1.37.2] [-quick] [-focus REGEXP] [-workers 2] [-zones 1] [-report DIR] [-keep]
//	    [-highly-available] [-private] [-during upgrade|rotation|deaths|machines] [-beyond] [-objects 100]
//	bin/conformance -page      summarizes the reports in results, and writes docs/conformance.md
//
//	main.go     flags, and the order of the steps
//	plan.go     specs that run: of the list of conformance tests, or with -beyond of a dry run of the tests
//	cluster.go  hosted cluster and its workers
//	objects.go  API objects of many small clusters in the hosted cluster
//	during.go   events that happen to the control plane while specs run
//	suite.go    ginkgo with the specs that run in parallel, then with those that run alone
//	follow.go   output of ginkgo ─► lines of progress
//	report      results ─► comparison with the list of specs, table, page
//
// It writes to DIR: the output of ginkgo, its reports as JSON and JUnit for both parts, and conformance.json, the comparison. The exit
// code is 1 unless all specs of the selection passed. With -beyond, a spec may skip itself, or fail for a reason in report/explain.go.
package main
