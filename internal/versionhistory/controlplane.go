package versionhistory

import (
	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// AdvanceControlPlane is Advance for the history of a control plane.
func AdvanceControlPlane(history []hyperv1.ControlPlaneUpdateHistory, to configv1.Release, done bool, now metav1.Time) []hyperv1.ControlPlaneUpdateHistory {
	var out []hyperv1.ControlPlaneUpdateHistory
	for _, h := range Advance(Updates(history), to, done, now) {
		out = append(out, hyperv1.ControlPlaneUpdateHistory{State: h.State, StartedTime: h.StartedTime, CompletionTime: h.CompletionTime, Version: h.Version, Image: h.Image})
	}
	return out
}

// Updates converts the entries of a control plane's history to entries of a cluster's history.
func Updates(history []hyperv1.ControlPlaneUpdateHistory) []configv1.UpdateHistory {
	var out []configv1.UpdateHistory
	for _, h := range history {
		out = append(out, configv1.UpdateHistory{State: h.State, StartedTime: h.StartedTime, CompletionTime: h.CompletionTime, Version: h.Version, Image: h.Image})
	}
	return out
}
