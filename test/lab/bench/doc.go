// Command bench prints the costs of the operators, with their goals.
//
//	go -C test/lab build -o ../../bin/ ./bench
//	bin/bench [-markdown] [-only text] [-json file] [-cpuprofile directory] [-memprofile directory]
//	bin/bench -timeline [-only text] [-events file]
//	bin/bench -only soak [-duration time]
//	bin/bench -only "large cluster" [-nodes number]
//	bin/bench -counts
//	bin/bench -page
//
// It is not a test: measurements depend on the machine. Exceeding a goal is not a failure; the exit code only tells whether the
// measurement itself succeeded, and with -counts whether a count is higher than before. Goals, the figures of other projects and the attempts are next to the rows in the code.
// At the end it prints the figures that are worse than in results/results.json by more than noise: counts of calls and writes always, times, CPU
// and memory if the committed results are of the same kind of machine. -counts measures only sections with counts that need minutes and
// no lab, and fails if one is higher: the CI job runs it. -json adds the results to a file, -page writes docs/benchmarks.md from results/results.json.
//
//	section            real parts                                            where
//	one cluster        API server, both operators' controllers; AWS in       onecluster.go
//	                   memory, its calls recorded
//	at rest            controllers and SDK, credentials included; clock      rest.go, virtual.go
//	                   and API server are fakes, so that hours take
//	                   seconds and every call has its exact time
//	control-plane-     as at rest, for 1,000 clusters of one account         fleetcalls.go
//	operators at rest
//	AWS infrastructure the graph of the command line and the SDK; AWS is      infrastructure.go
//	                   the emulator, and each call takes 100 ms more
//	1,000 services     API server, the operator in a process of its own;     thousand.go
//	                   AWS in memory takes 60 ms per call
//	200 HostedClusters the same, with all controllers, with and without      hostedclusters.go
//	...                node pools; then a client that makes the same writes  replay.go
//	restart with ...   the same, on existing HostedClusters and NodePools    restart.go, fleet.go
//	etcd and           both programs, without any of our code                floor.go
//	kube-apiserver ...
//	hosted control     everything: a lab, as root                            hostedcontrolplanes.go
//	planes, ...        (-only "one at rest" is the shortest)
//	node pools         the same: machines that boot, and join                nodepools.go
//	highly available   the same: memory and CPU of a control plane with      highlyavailable.go
//	at rest            three API servers
//	deletion with      the same: until all parts of a cluster are gone       workersdeletion.go
//	workers
//	API under load     the same: requests with and without the router        apiload.go
//	under fire         the same: failed requests of users while parts die,   underfire.go
//	                   are upgraded, rotated or changed
//	soak               as 200 HostedClusters; clusters and pools are made    soak.go
//	                   and deleted for hours. Only with its name
//	cold demo          make demo, with caches that are empty. Only with      colddemo.go
//	                   its name
//
// -only takes the name of a section, the beginning of several names, or a part of one.
// A section on a lab starts a lab and removes it. It is refused while another lab exists.
//
// -timeline prints for the start of a hosted control plane when each object was created, scheduled, started and became ready, and the
// longest waits until its API server answered its user.
//
// AWS is test/fakeaws under the real SDK: the figures include validation, retries, credentials and signatures, but not TLS and
// XML. The fake runs in the measured process; its share of CPU and memory at a thousand services is measured without the operator
// and printed with the figures.
//
// Every figure is measured in a process of its own (task.go), so that figures do not influence each other. A figure that was
// measured several times is printed as the median, with the minimum.
package main
