package clusterrelease

import (
	"fmt"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// past is a history of versions, newest first; one with a ~ was never completed.
func past(versions ...string) []configv1.UpdateHistory {
	var history []configv1.UpdateHistory
	for _, v := range versions {
		h := configv1.UpdateHistory{State: configv1.CompletedUpdate, Version: strings.Trim(v, "~"), Image: "image:" + strings.Trim(v, "~")}
		if strings.HasPrefix(v, "~") {
			h.State = configv1.PartialUpdate
		}
		history = append(history, h)
	}
	return history
}

func TestStepsOfAControlPlane(t *testing.T) {
	for name, c := range map[string]struct {
		history []configv1.UpdateHistory
		to      string
		refused string
	}{
		"the first version is free":                        {nil, "1.33.0", ""},
		"a first version that never came up is no past":    {past("~1.36.0"), "1.33.0", ""},
		"a patch ahead":                                    {past("1.35.4"), "1.35.9", ""},
		"a patch back keeps the data":                      {past("1.35.4"), "1.35.1", ""},
		"a minor version ahead":                            {past("1.35.4"), "1.36.0", ""},
		"a minor version back":                             {past("1.35.4"), "1.34.9", "a step back from 1.35.4"},
		"over a minor version":                             {past("1.34.1"), "1.36.0", "it runs 1.34.1"},
		"back from what only began":                        {past("~1.36.0", "1.35.4"), "1.35.4", "a step back from 1.36.0"},
		"ahead of what only began":                         {past("~1.35.0", "1.34.1"), "1.36.0", "it runs 1.34.1"},
		"within what only began":                           {past("~1.35.0", "1.34.1"), "1.35.9", ""},
		"what was before the last complete one is history": {past("1.35.0", "1.36.0"), "1.36.1", ""},
		"another family":                                   {past("4.21.0"), "1.35.4", "it runs OpenShift 4.21.0"},
		"a past that nobody can read":                      {past("what"), "1.33.0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			to, known := release.LineOf(c.to)
			if !known {
				t.Fatal(c.to)
			}
			if why := checkStep(to, c.history); !strings.HasPrefix(why, c.refused) || (c.refused == "") != (why == "") {
				t.Errorf("refused because %q, want %q", why, c.refused)
			}
		})
	}
}

func TestVersionsThatCannotRunAreRefused(t *testing.T) {
	for version, want := range map[string]string{
		"1.34.0": "", "1.37.2": "",
		"1.33.9": "version 1.33.9 cannot be hosted by this version of the operators, which know Kubernetes 1.34 to 1.37: choose such a release in spec.release.image",
		"4.20.1": "version 4.20.1 is one of OpenShift, whose components this version of the operators cannot run: choose a release of Kubernetes 1.34 to 1.37 in spec.release.image",
		"5.0.0":  "version 5.0.0 is one of OpenShift, whose components this version of the operators cannot run: choose a release of Kubernetes 1.34 to 1.37 in spec.release.image",
		"latest": "version latest cannot be hosted by this version of the operators, which know Kubernetes 1.34 to 1.37: choose such a release in spec.release.image",
	} {
		t.Run(version, func(t *testing.T) {
			hc := &hyperv1.HostedCluster{}
			if got := text(checkVersion(hc, clusterStep(hc, &release.Release{Version: version}))); got != want {
				t.Errorf("refused with %q, want %q", got, want)
			}
			hc.Annotations = skipped()
			if err := checkVersion(hc, clusterStep(hc, &release.Release{Version: version})); err != nil {
				t.Errorf("checked although the user skips it: %v", err)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestControlPlanesRunWhereTheirImagesDo(t *testing.T) {
	for sentence, c := range map[string]struct {
		payload   hyperv1.PayloadArchType
		ours      string
		nodes     string // of spec.nodeSelector
		unchecked bool
		want      string
	}{
		"a payload for several architectures runs everywhere": {payload: hyperv1.Multi, ours: "arm64"},
		"one that does not say may run":                       {payload: "", ours: "arm64"},
		"one for our nodes runs":                              {payload: hyperv1.ARM64, ours: "arm64"},
		"one for others does not":                             {payload: hyperv1.ARM64, ours: "amd64", want: "images for ARM64 only, and its control plane would run on nodes of architecture amd64"},
		"the cluster may choose nodes that fit":               {payload: hyperv1.ARM64, ours: "amd64", nodes: "arm64"},
		"and nodes that do not":                               {payload: hyperv1.AMD64, ours: "amd64", nodes: "arm64", want: "nodes of architecture arm64"},
		"whoever skips the checks is not asked":               {payload: hyperv1.ARM64, ours: "amd64", unchecked: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			hc := &hyperv1.HostedCluster{}
			if c.nodes != "" {
				hc.Spec.NodeSelector = map[string]hyperv1.LabelValue{corev1.LabelArchStable: hyperv1.LabelValue(c.nodes)}
			}
			if c.unchecked {
				hc.Annotations = skipped()
			}
			err := checkArchitecture(hc, &release.Release{Version: "1.36.3", Architecture: c.payload}, c.ours)
			if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(got, c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// skipped returns the annotation by which a user skips the checks.
func skipped() map[string]string {
	return map[string]string{hyperv1.SkipReleaseImageValidationAnnotation: "true"}
}

func TestAControlPlaneIsNotOlderThanWhatRunsOnItsNodes(t *testing.T) {
	rel := func(version, kubernetes string) *release.Release {
		return &release.Release{Version: version, KubernetesVersion: kubernetes}
	}
	for name, c := range map[string]struct {
		cluster, own *release.Release
		want         string
	}{
		"the same version":           {rel("1.35.4", "1.35.4"), rel("1.35.4", "1.35.4"), ""},
		"a newer patch":              {rel("1.35.4", "1.35.4"), rel("1.35.9", "1.35.9"), ""},
		"three minor versions newer": {rel("1.33.1", "1.33.1"), rel("1.36.3", "1.36.3"), ""},
		"four minor versions newer":  {rel("1.32.1", "1.32.1"), rel("1.36.3", "1.36.3"), "upgrade spec.release.image first"},
		"an older minor version":     {rel("1.36.3", "1.36.3"), rel("1.35.4", "1.35.4"), "choose a newer spec.controlPlaneRelease.image, or remove it"},
		"an older patch":             {rel("1.35.4", "1.35.4"), rel("1.35.1", "1.35.1"), "must not be newer"},
		"no version of Kubernetes":   {rel("1.35.4", "1.35.4"), rel("1.35.9", ""), "choose another spec.controlPlaneRelease.image"},
	} {
		t.Run(name, func(t *testing.T) {
			err := checkSkew(&hyperv1.HostedCluster{}, c.cluster, c.own)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			skip := &hyperv1.HostedCluster{}
			skip.Annotations = skipped()
			if err := checkSkew(skip, c.cluster, c.own); err != nil {
				t.Errorf("checked although the user skips it: %v", err)
			}
		})
	}
}
