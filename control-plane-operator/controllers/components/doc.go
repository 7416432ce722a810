// Package components runs the pods of a hosted control plane.
//
//	living                                              deleted
//	  finalizer                                           others     controllers with a finalizer may still
//	  release       ┐ the images                                     need the API server
//	  hosts         ┘ addresses of the control plane      pods       all at once
//	  certificates    package certificates                finalizer
//	  gather          Secrets and ConfigMaps
//	  verification    whether the API server verifies kubelets; never turned off
//	  encryption      waits for the recorded encryption keys
//	  components      the graph of package component
//	  former          Secrets with AWS roles of earlier versions; deleted after the last pod that mounts them
//	  credentials
//
// The controller does not wait for load balancers: certificates gain their names when they appear. The components are
// listed in control-plane-operator/components.
package components
