// Command bench prints what our operators cost beside what they may cost.
//
//	go run ./test/bench [-markdown] [-only text] [-cpuprofile directory] [-memprofile directory]
//
// It is no test: machines are noisy, so nothing here fails for being slow, and
// the exit code only says whether there was something to print.
//
//	section            what is real                                          where
//	one cluster        API server, both operators' controllers; AWS in       onecluster.go
//	                   memory, its calls recorded
//	at rest            controllers and SDK, credentials included; the        rest.go, virtual.go
//	                   clock and the API server are not, so hours take
//	                   seconds and every call has its exact time
//	1,000 services     API server, the operator in a process of its own;     thousand.go
//	                   AWS in memory takes 60 ms per call
//	200 HostedClusters the same, with the HostedCluster controller too       hostedclusters.go
//	restart with       the same, with all controllers, on 1,000              restart.go
//	1,000 ...          HostedClusters and 2,000 NodePools that are made
//	hosted control     all of it: a lab, as root                             hostedcontrolplanes.go
//	planes, ...        (-only "one at rest" is the shortest)
//
// -only takes the name of a section, the beginning of several, or a part of one.
// A section on a lab starts its own and takes it down, and is refused while another
// lab is there.
//
// AWS is test/fakeaws, under the real SDK: validation, retries, credentials and
// signatures are paid for, TLS and XML are not. It lives in the process that is
// measured; what it takes of CPU and memory at a thousand services is measured
// without the operator and said beside the figures.
//
// Every figure is measured in a process of its own (task.go), so that figures do
// not disturb each other. A figure that was measured several times is printed as
// the median, with the smallest beside it.
package main
