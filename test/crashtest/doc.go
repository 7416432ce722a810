// Package crashtest puts a controller through what production will.
//
//	Crash      settles, falls silent, and survives dying after every single write
//	Fault      settles in the same world although AWS misbehaved
//	APIFaults  settles in the same world, and leaves nothing after deletion,
//	           although the API server misbehaved, and always says it comes back
//	Vanish     leaves nothing after deletion, however far creation had come
//
// A Story is a fresh world with one controller in it: a fake API server
// (Cluster), a fake AWS that the test brings, and a Life through which all
// calls of the controller go. The Life counts writes in the order in which they
// happen, in Kubernetes and in AWS alike, and ends after the one it was told to:
// that write takes effect, its answer is lost, and no later call gets through.
// Story.Start then makes the controller anew, with empty hands.
package crashtest
