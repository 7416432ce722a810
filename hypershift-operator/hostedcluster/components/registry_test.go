package components_test

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podsecurity "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/components"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/components/capiprovider"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/components/controlplaneoperator"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

var all = slices.Concat(components.ControlPlane, components.Machines, components.Autoscaler)

func TestPodsAreRestrictedAndHaveRequests(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := podsecurity.LevelVersion{Level: podsecurity.LevelRestricted, Version: podsecurity.LatestVersion()}
	target := &controlplane.Target{
		Namespace: controlplane.Namespace{Name: "clusters-demo"}, AWS: &hyperv1.AWSPlatformSpec{Region: "us-east-1"},
		Images: map[string]string{controlplane.OperatorImage: "operator", names.ClusterAPI: "core", capiprovider.Image: "provider", names.ClusterAutoscaler: "autoscaler"},
	}
	for _, c := range all {
		objs, err := component.Render(c, target)
		if err != nil {
			t.Fatal(err)
		}
		template := component.AsWorkload(objs[len(objs)-1]).Template
		result := policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &metav1.ObjectMeta{Labels: template.Labels}, &template.Spec))
		if !result.Allowed {
			t.Errorf("%s: %s", c.Name, result.ForbiddenDetail())
		}
		for _, container := range template.Spec.Containers {
			if r := container.Resources.Requests; r.Cpu().IsZero() || r.Memory().IsZero() {
				t.Errorf("container %s of %s has no requests", container.Name, c.Name)
			}
		}
	}
}

func TestResyncPeriodIsPassedOn(t *testing.T) {
	for period, want := range map[time.Duration]string{0: "", awsx.ResyncPeriod: "", time.Minute: "--resync-period=1m0s"} {
		objs, err := component.Render(controlplaneoperator.Component, &controlplane.Target{
			Namespace: controlplane.Namespace{Name: "clusters-demo"}, Images: map[string]string{controlplane.OperatorImage: "operator"}, ResyncPeriod: period,
		})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, arg := range component.AsWorkload(objs[len(objs)-1]).Template.Spec.Containers[0].Args {
			if strings.HasPrefix(arg, "--resync-period") {
				got = arg
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", period, got, want)
		}
	}
}

// The adapter of a misspelt file would never run.
func TestEveryAdapterHasItsAsset(t *testing.T) {
	for _, c := range all {
		var files []string
		err := fs.WalkDir(c.Assets, ".", func(file string, _ fs.DirEntry, err error) error {
			files = append(files, path.Base(file))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range c.Adapters {
			if !slices.Contains(files, a.File()) {
				t.Errorf("%s has no %s", c.Name, a.File())
			}
		}
	}
}
