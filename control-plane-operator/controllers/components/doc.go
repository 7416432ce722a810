// Package components runs the pods of a hosted control plane.
//
//	living                                                          deleted
//	  finalizer                                                       others     controllers with a finalizer may
//	  release               ┐ the images                                         still need the API server
//	  hosts                 │ addresses of the control plane          pods       all at once
//	  nodes                 ┘ whether there are any                   finalizer
//	  certificates            package certificates
//	  gather                  Secrets and ConfigMaps
//	  restore of etcd         recorded when no pod is left
//	  kubelet verification    by the API server; never turned off
//	  encryption              waits for the recorded encryption keys
//	  components              the graph of package component
//
// The controller does not wait for load balancers: certificates gain their names when they appear. The components are
// listed in control-plane-operator/components.
package components
