// Package bed starts a management cluster for tests and for the demo, from real servers, on loopback:
//
//	Start: etcd, kube-apiserver ─► CRDs ─► kube-controller-manager (namespaces, garbage collection, service accounts)
//	StartCloud: Nodes, cloud-controller-manager on the AWS emulator ─► host names for Services of type LoadBalancer
//
// There is no scheduler and no kubelet; package podrunner runs Deployments as processes, hostedapi the API server of a hosted
// cluster, and nodes plays its machines; package stage puts all of it together. The servers come from hack/binaries, or from
// KUBEBUILDER_ASSETS; with USE_EXISTING_CLUSTER=true the cluster of KUBECONFIG is used and nothing of Kubernetes is started.
package bed
