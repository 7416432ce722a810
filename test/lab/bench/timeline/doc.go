// Package timeline shows the waits in the start of a hosted control plane: when each object was created, scheduled, started and became
// ready.
//
//	watch events ─Record─► steps of each object ─Print─► table by time, longest waits, pauses
//
// Times are those at which a watch delivers a change: the times in objects are whole seconds.
//
//	object              scheduled       started                      ready
//	Pod                 PodScheduled    its first container runs     Ready
//	container of a Pod                  it runs                      ready; of an init container: it has succeeded
//	Deployment, StatefulSet             the first pod exists         all pods are available, or ready
//	Service                             load balancer name is known  an endpoint is ready
//	PersistentVolumeClaim                                            Bound
//	kinds of hypershift                                              Available
package timeline
