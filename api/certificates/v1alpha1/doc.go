// Package v1alpha1 has the kinds of the API group certificates.hypershift.openshift.io.
//
// +kubebuilder:object:generate=true
// +groupName=certificates.hypershift.openshift.io
package v1alpha1
