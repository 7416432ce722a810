// Package crashtest tests that a controller survives crashes and faults. It needs no cluster: the API server and AWS are fakes.
//
//	CrashConsistency  crash-consistency test: the controller converges, becomes idle, and reaches the same state after a crash
//	                  at every single write
//	FaultTolerance    the controller reaches the same state although AWS calls fail
//	APIFaults         the controller reaches the same state, and leaves no object after deletion, although calls of the API
//	                  server fail; after a fault it always requeues
//	NoLeaks           leak test: deletion leaves no object, in Kubernetes and in AWS, wherever creation or deletion crashed
//
// A test passes a Setup function, which creates a Scenario: a fake API server (Cluster), a fake AWS, and one controller. All calls
// of the controller go through a CallCounter. It numbers the writes in the order in which they happen, in Kubernetes and in AWS
// alike. To simulate a crash at write n, the CallCounter lets this write take effect, but returns ErrCrashed instead of its
// response, and rejects every later call. Scenario.Start then creates a new instance of the controller with empty caches, as a
// restart of the process does. A controller fails the test if, for example, it creates a resource again because it lost the
// response of the first attempt, or creates a resource before it has added the finalizer that deletes it.
package crashtest
