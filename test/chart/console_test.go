package chart_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// into converts an object.
func into(t *testing.T, obj *unstructured.Unstructured, typed any) {
	t.Helper()
	text, err := json.Marshal(obj.Object)
	if err == nil {
		err = json.Unmarshal(text, typed)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// consoleObjects returns the objects of the console.
func consoleObjects(t *testing.T, values string) (pod *appsv1.Deployment, policy *networkingv1.NetworkPolicy) {
	t.Helper()
	for _, obj := range render(t, values) {
		if obj.GetName() != "hypershift-console" {
			continue
		}
		switch obj.GetKind() {
		case "Deployment":
			pod = &appsv1.Deployment{}
			into(t, obj, pod)
		case "NetworkPolicy":
			policy = &networkingv1.NetworkPolicy{}
			into(t, obj, policy)
		case "Service":
		default:
			t.Errorf("the console has a %s: it needs no rights", obj.GetKind())
		}
	}
	return pod, policy
}

func TestConsoleHasNoRights(t *testing.T) {
	if pod, _ := consoleObjects(t, ""); pod != nil {
		t.Error("the console is on by default")
	}
	pod, policy := consoleObjects(t, "console: {enabled: true}")
	if pod == nil || policy == nil {
		t.Fatal("the console has no Deployment or no NetworkPolicy")
	}
	spec := pod.Spec.Template.Spec
	if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken || spec.ServiceAccountName != "" {
		t.Error("the pod has a token")
	}
	for _, v := range spec.Volumes {
		if v.ConfigMap == nil || v.ConfigMap.Name != "kube-root-ca.crt" {
			t.Errorf("the pod has the volume %+v", v)
		}
	}
	c := spec.Containers[0]
	if len(c.Env)+len(c.EnvFrom) > 0 || !slices.Equal(c.Command, []string{"/usr/bin/console"}) || c.SecurityContext == nil || c.SecurityContext.ReadOnlyRootFilesystem == nil || !*c.SecurityContext.ReadOnlyRootFilesystem {
		t.Errorf("container %+v", c)
	}
	if len(policy.Spec.Ingress) > 0 || len(policy.Spec.PolicyTypes) != 2 {
		t.Errorf("without ingressFrom others may connect: %+v", policy.Spec)
	}
	for _, rule := range policy.Spec.Egress {
		for _, to := range rule.To {
			if to.IPBlock != nil && to.IPBlock.CIDR == "0.0.0.0/0" && !slices.Contains(to.IPBlock.Except, "169.254.0.0/16") {
				t.Error("the metadata of the instance can be reached")
			}
		}
	}
	_, policy = consoleObjects(t, "console: {enabled: true, ingressFrom: [{namespaceSelector: {matchLabels: {a: b}}}]}")
	if len(policy.Spec.Ingress) != 1 || len(policy.Spec.Ingress[0].From) != 1 || policy.Spec.Ingress[0].From[0].NamespaceSelector.MatchLabels["a"] != "b" {
		t.Errorf("%+v", policy.Spec.Ingress)
	}
	if _, err := helm(t, "template", release, chartFile(t), "--set", "console.title="); err == nil || !strings.Contains(err.Error(), "title") {
		t.Errorf("an empty title: %v", err)
	}
}
