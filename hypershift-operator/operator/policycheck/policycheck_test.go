package policycheck

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func old() metav1.Time { return metav1.NewTime(noon.Add(-time.Hour)) }

const open, closed = "10.0.0.7:6443", "10.0.0.7:8092"

func controlPlane() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters-a", Labels: map[string]string{hyperv1.ControlPlaneNamespaceLabel: "true"}}}
}

func apiServer(changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-a", Name: "kas", Labels: map[string]string{"app": names.KubeAPIServer}, CreationTimestamp: old()},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "kube-apiserver", Ports: []corev1.ContainerPort{{Name: "client", ContainerPort: 6443}}},
			{Name: "konnectivity-server", Ports: []corev1.ContainerPort{{Name: "agents", ContainerPort: 8091}, {Name: "health", ContainerPort: 8092}}},
		}},
		Status: corev1.PodStatus{PodIP: "10.0.0.7", Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func policy(changes ...func(*networkingv1.NetworkPolicy)) *networkingv1.NetworkPolicy {
	p := &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-a", Name: "same-namespace", CreationTimestamp: old()},
		Spec: networkingv1.NetworkPolicySpec{
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}}},
		},
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

// network lets connections through to some addresses.
func network(addresses ...string) func(context.Context, string) error {
	return func(_ context.Context, address string) error {
		if slices.Contains(addresses, address) {
			return nil
		}
		return errors.New("i/o timeout")
	}
}

func checker(dial func(context.Context, string) error, objs ...client.Object) *Checker {
	c := fake.NewClientBuilder().WithObjects(objs...).Build()
	return New(Options{Client: c, Reader: c, Clock: clocktesting.NewFakeClock(noon), Dial: dial})
}

func TestEnforcementIsWhatTheNetworkDoes(t *testing.T) {
	for name, tc := range map[string]struct {
		dial func(context.Context, string) error
		objs []client.Object
		want metav1.ConditionStatus
	}{
		"a forbidden connection that fails while the allowed one is made": {network(open), []client.Object{controlPlane(), apiServer(), policy()}, metav1.ConditionTrue},
		"a forbidden connection that is made":                             {network(open, closed), []client.Object{controlPlane(), apiServer(), policy()}, metav1.ConditionFalse},
		"a pod that cannot be reached at all":                             {network(), []client.Object{controlPlane(), apiServer(), policy()}, metav1.ConditionUnknown},
		"no control plane":                                                {network(open), nil, metav1.ConditionUnknown},
		"a control plane without pods":                                    {network(open), []client.Object{controlPlane(), policy()}, metav1.ConditionUnknown},
		"a namespace of somebody else": {network(open, closed), []client.Object{
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters-a"}}, apiServer(), policy()}, metav1.ConditionUnknown},
		"a control plane without policies": {network(open, closed), []client.Object{controlPlane(), apiServer()}, metav1.ConditionUnknown},
		"policies that are new": {network(open, closed), []client.Object{controlPlane(), apiServer(), policy(func(p *networkingv1.NetworkPolicy) {
			p.CreationTimestamp = metav1.NewTime(noon)
		})}, metav1.ConditionUnknown},
		"a policy of an earlier version that opens every port": {network(open, closed), []client.Object{controlPlane(), apiServer(), policy(), policy(func(p *networkingv1.NetworkPolicy) {
			p.Name, p.Spec.Ingress = "published", []networkingv1.NetworkPolicyIngressRule{{}}
		})}, metav1.ConditionUnknown},
		"policies about egress alone": {network(open, closed), []client.Object{controlPlane(), apiServer(), policy(func(p *networkingv1.NetworkPolicy) {
			p.Spec.PolicyTypes, p.Spec.Ingress = []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}, nil
		})}, metav1.ConditionUnknown},
		"a pod that is new": {network(open, closed), []client.Object{controlPlane(), policy(), apiServer(func(p *corev1.Pod) {
			p.CreationTimestamp = metav1.NewTime(noon)
		})}, metav1.ConditionUnknown},
		"a pod that is not ready": {network(open), []client.Object{controlPlane(), policy(), apiServer(func(p *corev1.Pod) {
			p.Status.Conditions[0].Status = corev1.ConditionFalse
		})}, metav1.ConditionUnknown},
		"a pod in the network of its node": {network(open, closed), []client.Object{controlPlane(), policy(), apiServer(func(p *corev1.Pod) {
			p.Spec.HostNetwork = true
		})}, metav1.ConditionUnknown},
		"a pod without a port that is closed": {network(open), []client.Object{controlPlane(), policy(), apiServer(func(p *corev1.Pod) {
			p.Spec.Containers = p.Spec.Containers[:1]
		})}, metav1.ConditionUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			c := checker(tc.dial, tc.objs...)
			c.update(t.Context())
			if got := c.Enforced(); got != tc.want {
				t.Errorf("enforced: %s, want %s", got, tc.want)
			}
			if told := len(c.Changed) == 1; told != (tc.want != metav1.ConditionUnknown) {
				t.Errorf("HostedClusters are woken: %v", told)
			}
		})
	}
}

func TestAProgramThatEndsDuringTheCheckProvesNothing(t *testing.T) {
	calls := 0
	c := checker(func(_ context.Context, address string) error {
		if calls++; calls == 1 {
			return nil
		}
		return errors.New("connection refused")
	}, controlPlane(), apiServer(), policy())
	c.update(t.Context())
	if got := c.Enforced(); got != metav1.ConditionUnknown {
		t.Errorf("enforced: %s", got)
	}
}

func TestAResultStaysUntilThereIsAnotherOne(t *testing.T) {
	c := checker(network(open), controlPlane(), apiServer(), policy())
	c.update(t.Context())
	<-c.Changed
	for _, step := range []struct {
		dial   func(context.Context, string) error
		want   metav1.ConditionStatus
		events int
	}{
		{network(open), metav1.ConditionTrue, 0},
		{network(), metav1.ConditionTrue, 0},
		{network(open, closed), metav1.ConditionFalse, 1},
	} {
		c.Dial = step.dial
		c.update(t.Context())
		if got := c.Enforced(); got != step.want || len(c.Changed) != step.events {
			t.Errorf("enforced: %s after %d events, want %s after %d", got, len(c.Changed), step.want, step.events)
		}
	}
}

const self = "10.0.0.1"

func operatorPod(changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "hypershift", Name: "operator", Labels: map[string]string{"app": names.HypershiftOperator}, CreationTimestamp: old()},
		Status:     corev1.PodStatus{PodIP: self},
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

// egress is a policy about the operator that opens the world without link-local addresses, and names.
func egress(changes ...func(*networkingv1.NetworkPolicy)) *networkingv1.NetworkPolicy {
	dns := intstr.FromInt32(53)
	p := &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "hypershift", Name: "egress", CreationTimestamp: old()},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": names.HypershiftOperator}},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
			Egress: []networkingv1.NetworkPolicyEgressRule{
				{To: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{}}}},
				{To: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "0.0.0.0/0", Except: []string{"169.254.0.0/16"}}}}},
				{To: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "169.254.0.0/16"}}}, Ports: []networkingv1.NetworkPolicyPort{{Port: &dns}}},
			},
		},
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

func TestWhatLeavesThePodIsTriedWhereAPolicyForbidsIt(t *testing.T) {
	const metadata, podIdentity = "169.254.169.254:80", "169.254.170.23:80"
	block := func(cidr string, ports ...networkingv1.NetworkPolicyPort) func(*networkingv1.NetworkPolicy) {
		return func(p *networkingv1.NetworkPolicy) {
			p.Name = "another"
			p.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: cidr}}}, Ports: ports}}
		}
	}
	first, last := intstr.FromInt32(1), int32(1024)
	for name, tc := range map[string]struct {
		answers []string
		objs    []client.Object
		want    metav1.ConditionStatus
	}{
		"nothing answers":                       {[]string{open}, []client.Object{operatorPod(), egress()}, metav1.ConditionTrue},
		"the metadata of the instance answer":   {[]string{open, metadata}, []client.Object{operatorPod(), egress()}, metav1.ConditionFalse},
		"EKS Pod Identity answers":              {[]string{open, podIdentity}, []client.Object{operatorPod(), egress()}, metav1.ConditionFalse},
		"there is no policy":                    {[]string{open, metadata}, []client.Object{operatorPod()}, metav1.ConditionTrue},
		"another policy opens the address":      {[]string{open, metadata}, []client.Object{operatorPod(), egress(), egress(block("169.254.169.254/32"))}, metav1.ConditionTrue},
		"another policy opens a neighbour's":    {[]string{open, metadata}, []client.Object{operatorPod(), egress(), egress(block("169.254.170.0/24"))}, metav1.ConditionFalse},
		"another policy opens a range of ports": {[]string{open, metadata}, []client.Object{operatorPod(), egress(), egress(block("169.254.0.0/16", networkingv1.NetworkPolicyPort{Port: &first, EndPort: &last}))}, metav1.ConditionTrue},
		"another policy opens everything": {[]string{open, metadata}, []client.Object{operatorPod(), egress(), egress(func(p *networkingv1.NetworkPolicy) {
			p.Name, p.Spec.Egress = "all", []networkingv1.NetworkPolicyEgressRule{{}}
		})}, metav1.ConditionTrue},
		"another policy opens everything for other pods": {[]string{open, metadata}, []client.Object{operatorPod(), egress(), egress(block("0.0.0.0/0"), func(p *networkingv1.NetworkPolicy) { p.Spec.PodSelector.MatchLabels["app"] = "external-dns" })}, metav1.ConditionFalse},
		"the policy is about ingress": {[]string{open, metadata}, []client.Object{operatorPod(), egress(func(p *networkingv1.NetworkPolicy) {
			p.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		})}, metav1.ConditionTrue},
		"the policy is new":                               {[]string{open, metadata}, []client.Object{operatorPod(), egress(func(p *networkingv1.NetworkPolicy) { p.CreationTimestamp = metav1.NewTime(noon) })}, metav1.ConditionTrue},
		"the pod is new":                                  {[]string{open, metadata}, []client.Object{operatorPod(func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(noon) }), egress()}, metav1.ConditionTrue},
		"the pod is in the network of its node":           {[]string{open, metadata}, []client.Object{operatorPod(func(p *corev1.Pod) { p.Spec.HostNetwork = true }), egress()}, metav1.ConditionTrue},
		"a service of the other family of addresses only": {[]string{open, "[fd00:ec2::254]:80"}, []client.Object{operatorPod(), egress()}, metav1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			c := checker(network(tc.answers...), append(tc.objs, controlPlane(), apiServer(), policy())...)
			c.Pod, c.Namespace = netip.MustParseAddr(self), "hypershift"
			c.update(t.Context())
			if got := c.Enforced(); got != tc.want {
				t.Errorf("enforced: %s, want %s", got, tc.want)
			}
		})
	}
}

// A thousand control planes cost as much as three.
func TestAHandfulOfControlPlanesIsTried(t *testing.T) {
	var objs []client.Object
	for i := range 50 {
		ns := controlPlane()
		ns.Name = "clusters-" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		pod, p := apiServer(), policy()
		pod.Namespace, p.Namespace = ns.Name, ns.Name
		objs = append(objs, ns, pod, p)
	}
	dials := 0
	c := checker(func(ctx context.Context, address string) error {
		dials++
		return network(open)(ctx, address)
	}, objs...)
	c.update(t.Context())
	if c.Enforced() != metav1.ConditionTrue || dials > 3*sample {
		t.Errorf("enforced: %s after %d connections", c.Enforced(), dials)
	}
}

func TestConnectionsComeFromTheAddressOfThePod(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if err := From(netip.MustParseAddr("127.0.0.1"))(t.Context(), server.Addr().String()); err != nil {
		t.Error(err)
	}
	if err := From(netip.MustParseAddr("192.0.2.1"))(t.Context(), server.Addr().String()); err == nil {
		t.Error("a connection is made from an address that the pod does not have")
	}
}
