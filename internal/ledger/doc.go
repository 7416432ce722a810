// Package ledger is the protocol by which an object creates resources in AWS and deletes them again without a leak,
// although the process may die at any moment and the lists of AWS may miss its writes for a while.
//
// A controller describes each resource in a table: the field of its status with the id, and functions that ensure and
// delete it. The Ledger turns the table into steps:
//
//	live                                                        deleting
//	  record     finalizer, tag keys, inputs of the deletion      roles        as recorded; without a record, no resources
//	  roles      sessions with AWS                                resources    in reverse order, each until it is gone
//	  resources  in the order of the table, each:                 eventual consistency, if the outcome of a creation
//	               look up ► record the intent ► create                        is not known
//	               ► record the id ► repair ► await readiness     sweep        with the last object: by owner tag
//	                                                              finalizer
//
// The reasons:
//
//   - The record is written before anything is created. At deletion the objects that it was made from may be gone, and
//     the user may have changed the roles or the region.
//   - An intent is written before the call that creates a resource, because the id is in the answer of that call. If
//     the process dies in between, or the answer is lost, the resource is found by its owner tag.
//   - An intent remains until the outcome is known: the resource was seen. An error of the call is no outcome.
//   - The list of AWS may lack a new resource. A list proves that it does not exist only after the window of eventual
//     consistency (awsx.ConsistencyWindow). A deletion waits for the window only if an intent is open. The
//     window begins when the deletion first finds no resource: the last creation may have been under way until then.
//   - The id is recorded so that a resource that AWS does not list yet is deleted, and to name it to the user.
//   - The recorded keys of tags grow before a tag is added and shrink when it is removed from all resources. Tags with
//     other keys belong to others.
//   - The sweep deletes the resources of objects of the same owner that were deleted by force.
//   - Windows and delays are in memory. After a restart they begin again, which costs time and leaks no resource.
package ledger
