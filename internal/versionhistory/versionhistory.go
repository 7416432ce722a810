// Package versionhistory maintains the list of releases of an object, newest first.
package versionhistory

import (
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Max is the limit of the API.
const Max = 100

// Advance adds a release to a history, and completes it when done is set. A completed release stays completed: its
// availability is reported by other conditions.
func Advance(history []configv1.UpdateHistory, to configv1.Release, done bool, now metav1.Time) []configv1.UpdateHistory {
	history = slices.Clone(history)
	if len(history) == 0 || history[0].Image != to.Image || history[0].Version != to.Version {
		if len(history) > 0 && history[0].CompletionTime == nil {
			history[0].CompletionTime = &now // another one replaces it
		}
		history = slices.Insert(history, 0, configv1.UpdateHistory{State: configv1.PartialUpdate, StartedTime: now, Version: to.Version, Image: to.Image})
	}
	if done && history[0].State != configv1.CompletedUpdate {
		history[0].State, history[0].CompletionTime = configv1.CompletedUpdate, &now
	}
	for len(history) > Max {
		history = forget(history)
	}
	return history
}

// forget removes the oldest entry that was never completed, except for the newest entry, or else the oldest of all.
func forget(history []configv1.UpdateHistory) []configv1.UpdateHistory {
	for i := len(history) - 1; i > 0; i-- {
		if history[i].State != configv1.CompletedUpdate {
			return slices.Delete(history, i, i+1)
		}
	}
	return history[:len(history)-1]
}
