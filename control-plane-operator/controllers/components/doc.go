// Package components runs the pods of a hosted control plane.
//
//	living                                              deleted
//	  finalizer                                           others     whoever still holds the control plane may
//	  release       ┐ the images                                     need its API server
//	  hosts         ┘ where the control plane is found    pods       all at once
//	  certificates    package certificates                finalizer
//	  gather          Secrets and ConfigMaps
//	  verification    does the API server verify kubelets? Once it does, for ever
//	  encryption      the keys of Secrets, as they are recorded now
//	  components      the graph of package component
//
// It does not wait for load balancers: certificates gain their names when they
// appear. Which components there are is in control-plane-operator/components.
package components
