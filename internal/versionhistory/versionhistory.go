// Package versionhistory keeps the list of the releases that something has run, newest
// first.
package versionhistory

import (
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Max is what the API takes.
const Max = 100

// Advance adds a release to a history, and completes it when it is done. A
// release that has been completed once stays so: that it cannot be asked just
// now is what other conditions say.
func Advance(history []configv1.UpdateHistory, to configv1.Release, done bool, now metav1.Time) []configv1.UpdateHistory {
	history = slices.Clone(history)
	if len(history) == 0 || history[0].Image != to.Image || history[0].Version != to.Version {
		if len(history) > 0 && history[0].CompletionTime == nil {
			history[0].CompletionTime = &now // another one takes its place
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

// forget drops the oldest entry that says least: one that never was completed,
// but for the newest, else the oldest of all.
func forget(history []configv1.UpdateHistory) []configv1.UpdateHistory {
	for i := len(history) - 1; i > 0; i-- {
		if history[i].State != configv1.CompletedUpdate {
			return slices.Delete(history, i, i+1)
		}
	}
	return history[:len(history)-1]
}
