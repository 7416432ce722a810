package hostedcluster

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

func TestARestartIsPropagatedOnce(t *testing.T) {
	e := newManagementCluster(t)
	dates := func() (plan, pods string) {
		hcp, d := &hyperv1.HostedControlPlane{}, &appsv1.Deployment{}
		if !e.Has(hcp, "demo") || !e.Has(d, names.ControlPlaneOperator) {
			t.Fatal("there is no control plane")
		}
		if got := d.Spec.Template.Spec.PriorityClassName; got != "hypershift-control-plane" {
			t.Errorf("the pods have priority class %q", got)
		}
		if got := d.Spec.Template.Spec.Tolerations; len(got) != 2 || *got[0].TolerationSeconds > 60 {
			t.Errorf("the pods leave dead nodes by %v", got)
		}
		return hcp.Annotations[hyperv1.RestartDateAnnotation], d.Spec.Template.Annotations[hyperv1.RestartDateAnnotation]
	}
	e.Run(2)
	if plan, pods := dates(); plan+pods != "" {
		t.Errorf("restarted at %s%s", plan, pods)
	}
	e.change(func(hc *hyperv1.HostedCluster) {
		metav1.SetMetaDataAnnotation(&hc.ObjectMeta, hyperv1.RestartDateAnnotation, "monday")
	})
	e.Run(2)
	if plan, pods := dates(); plan != "monday" || pods != "monday" {
		t.Errorf("got %q and %q", plan, pods)
	}
	e.change(func(hc *hyperv1.HostedCluster) { delete(hc.Annotations, hyperv1.RestartDateAnnotation) })
	e.Run(2)
	if plan, pods := dates(); plan != "monday" || pods != "monday" {
		t.Errorf("taking the annotation away restarts again: %q and %q", plan, pods)
	}
}
