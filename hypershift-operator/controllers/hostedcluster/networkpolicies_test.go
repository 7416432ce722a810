package hostedcluster

import (
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/isolation"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/networkpolicy"
)

func TestPoliciesFollowTheManagementCluster(t *testing.T) {
	e := newManagementCluster(t)
	e.Run(2)
	e.Create(&discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: isolation.ManagementAPI.Namespace, Name: "kubernetes", Labels: map[string]string{discoveryv1.LabelServiceName: isolation.ManagementAPI.Name}},
		Endpoints:  []discoveryv1.Endpoint{{Addresses: []string{"10.9.0.1"}}},
		Ports:      []discoveryv1.EndpointPort{{Port: ptr.To[int32](6443)}},
	})
	e.Create(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: isolation.ManagementAPI.Namespace, Name: isolation.ManagementAPI.Name},
		Spec:       corev1.ServiceSpec{ClusterIPs: []string{"172.20.0.1"}, Ports: []corev1.ServicePort{{Port: 443}}},
	})
	e.Run(1)
	var list networkingv1.NetworkPolicyList
	e.List(&list, client.InNamespace(plane))
	pod := networkpolicy.Party{Namespace: plane, Address: netip.MustParseAddr("10.128.0.2")}
	labelled := pod
	labelled.Labels = map[string]string{names.ManagementAccessLabel: "true"}
	for addr, port := range map[string]int32{"10.9.0.1": 6443, "172.20.0.1": 443} {
		to := networkpolicy.Party{Address: netip.MustParseAddr(addr)}
		if networkpolicy.Egress(list.Items, pod, to, networkpolicy.TCP(port)) {
			t.Errorf("a pod without the label reaches %s", addr)
		}
		if !networkpolicy.Egress(list.Items, labelled, to, networkpolicy.TCP(port)) {
			t.Errorf("a pod with the label does not reach %s", addr)
		}
	}
}

// A policy that an earlier version has opened would stay open.
func TestPoliciesOfEarlierVersionsAreRemoved(t *testing.T) {
	e := newManagementCluster(t)
	e.Run(1)
	e.Create(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{
		Namespace: plane, Name: names.Router, Labels: map[string]string{apply.InventoryLabel: names.HypershiftOperator + "." + isolation.PoliciesSet},
	}})
	e.Run(1)
	if e.Has(&networkingv1.NetworkPolicy{}, names.Router) || !e.Has(&networkingv1.NetworkPolicy{}, "published-ports") {
		t.Error("the namespace has the policies of an earlier version")
	}
}

func TestWhetherPoliciesAreEnforcedIsReportedAndChangesNothingElse(t *testing.T) {
	e := newManagementCluster(t)
	e.Run(6)
	hc := e.hc()
	if c := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.NetworkPoliciesEnforced); c != nil {
		t.Errorf("nobody checks it, and the condition is %+v", c)
	}
	available := e.Condition(hyperv1.HostedClusterAvailable)
	for _, status := range []metav1.ConditionStatus{metav1.ConditionUnknown, metav1.ConditionTrue, metav1.ConditionFalse} {
		e.enforced = func() metav1.ConditionStatus { return status }
		e.Restart()
		e.Run(1)
		if c := e.Condition(hyperv1.NetworkPoliciesEnforced); c.Status != status || c.Reason == "" {
			t.Errorf("enforced: %s, and the condition is %+v", status, c)
		}
		if c := e.Condition(hyperv1.HostedClusterAvailable); c.Status != available.Status || c.Reason != available.Reason {
			t.Errorf("enforced: %s, and Available has become %+v", status, c)
		}
	}
}
