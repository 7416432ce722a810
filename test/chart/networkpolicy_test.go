package chart_test

import (
	"net/netip"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/hosted-control-planes/hypershift/test/networkpolicy"
	"github.com/hosted-control-planes/hypershift/test/networkpolicy/vpccni"
)

// withPolicies renders the chart; pod is a pod of one of its Deployments.
func withPolicies(t *testing.T, values, deployment string) (policies []networkingv1.NetworkPolicy, pod networkpolicy.Party) {
	t.Helper()
	for _, obj := range render(t, values) {
		if !slices.Contains([]string{"NetworkPolicy", "Deployment"}, obj.GetKind()) {
			continue
		}
		switch obj := typed(t, obj).(type) {
		case *networkingv1.NetworkPolicy:
			policies = append(policies, *obj)
		case *appsv1.Deployment:
			if obj.Name != deployment {
				continue
			}
			pod = networkpolicy.Party{Namespace: obj.Namespace, Labels: obj.Spec.Template.Labels, Ports: map[string]int32{}}
			for _, p := range obj.Spec.Template.Spec.Containers[0].Ports {
				pod.Ports[p.Name] = p.ContainerPort
			}
		}
	}
	if len(pod.Ports) == 0 {
		t.Fatalf("no Deployment %s is rendered", deployment)
	}
	return policies, pod
}

func TestOnlyMonitoringNamespacesReachTheOperators(t *testing.T) {
	monitoring := networkpolicy.Party{Namespace: "monitoring", NamespaceLabels: map[string]string{"network.openshift.io/policy-group": "monitoring"}}
	tenant := networkpolicy.Party{Namespace: "clusters-a", NamespaceLabels: map[string]string{"hypershift.openshift.io/hosted-control-plane": "true"}}
	for _, deployment := range []string{"hypershift-operator", "external-dns"} {
		policies, pod := withPolicies(t, installations["public names"], deployment)
		for name, number := range pod.Ports {
			if networkpolicy.Ingress(policies, tenant, pod, networkpolicy.TCP(number)) {
				t.Errorf("a control plane pod reaches port %s of %s", name, deployment)
			}
			if got, want := networkpolicy.Ingress(policies, monitoring, pod, networkpolicy.TCP(number)), name == "metrics"; got != want {
				t.Errorf("a monitoring namespace reaches port %s of %s: %v, want %v", name, deployment, got, want)
			}
		}
	}
}

func TestOperatorWithARoleDoesNotReachInstanceMetadata(t *testing.T) {
	metadata := networkpolicy.Party{Address: netip.MustParseAddr("169.254.169.254")}
	for name, tc := range map[string]struct {
		values, deployment string
		reaches            bool
	}{
		"an operator with a role":              {installations["a role for private clusters"], "hypershift-operator", false},
		"an operator with a credentials file":  {installations["a lab"], "hypershift-operator", false},
		"an operator without either needs it":  {"", "hypershift-operator", true},
		"external-dns with a role":             {installations["public names"], "external-dns", false},
		"policies that the user does not want": {installations["a lab"] + "networkPolicy: {enabled: false}\n", "hypershift-operator", true},
	} {
		t.Run(name, func(t *testing.T) {
			policies, pod := withPolicies(t, tc.values, tc.deployment)
			if got := networkpolicy.Egress(policies, pod, metadata, networkpolicy.TCP(80)); got != tc.reaches {
				t.Errorf("it reaches instance metadata: %v, want %v", got, tc.reaches)
			}
			for _, to := range []string{"203.0.113.7", "2001:db8::7", "10.0.0.1"} {
				if !networkpolicy.Egress(policies, pod, networkpolicy.Party{Address: netip.MustParseAddr(to)}, networkpolicy.TCP(443)) {
					t.Errorf("it does not reach %s", to)
				}
			}
			if !networkpolicy.Egress(policies, pod, networkpolicy.Party{Address: netip.MustParseAddr("169.254.20.10")}, networkpolicy.UDP(53)) {
				t.Error("it does not resolve names at its node")
			}
		})
	}
}

// The agent of EKS Pod Identity gives the role of the operator. Instance metadata would give the node's role.
func TestOperatorWithPodIdentityReachesItsAgentOnly(t *testing.T) {
	policies, pod := withPolicies(t, "aws: {region: us-east-1, podIdentity: true}", "hypershift-operator")
	for to, want := range map[string]bool{
		"169.254.170.23": true, "fd00:ec2::23": true, "169.254.169.254": false, "169.254.170.2": false, "fd00:ec2::254": false,
	} {
		if got := networkpolicy.Egress(policies, pod, networkpolicy.Party{Address: netip.MustParseAddr(to)}, networkpolicy.TCP(80)); got != want {
			t.Errorf("it reaches %s: %v, want %v", to, got, want)
		}
	}
	policies, pod = withPolicies(t, installations["a role for private clusters"], "hypershift-operator")
	if networkpolicy.Egress(policies, pod, networkpolicy.Party{Address: netip.MustParseAddr("169.254.170.23")}, networkpolicy.TCP(80)) {
		t.Error("an operator with a role of its own reaches the agent")
	}
}

// The same on EKS, where the longest prefix of all rules decides.
func TestOperatorReachesTheAgentOfPodIdentityOnEKS(t *testing.T) {
	policies, pod := withPolicies(t, "aws: {region: us-east-1, podIdentity: true}", "hypershift-operator")
	for to, want := range map[string]bool{"169.254.170.23": true, "169.254.169.254": false, "203.0.113.7": true} {
		if got := (vpccni.Cluster{}).Egress(policies, pod, netip.MustParseAddr(to), networkpolicy.TCP(80)); got != want {
			t.Errorf("it reaches %s: %v, want %v", to, got, want)
		}
	}
}
