package hostedcluster

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/sizes"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

func TestTheNamespaceOfAControlPlaneIsBounded(t *testing.T) {
	e := newEmptyManagementCluster(t)
	hc := privateCluster()
	publish(hc, hyperv1.APIServer, hyperv1.Route, "API.example.com")
	publish(hc, hyperv1.OAuthServer, hyperv1.Route, "oauth.example.com")
	e.Create(hc, testenv.PullSecret())
	e.Restart()
	e.Run(3)

	quota := &corev1.ResourceQuota{}
	if !e.Has(quota, "control-plane") || quota.Spec.Hard.Pods().IsZero() {
		t.Fatalf("the quota is %v", quota.Spec.Hard)
	}
	limits := &corev1.LimitRange{}
	if !e.Has(limits, "control-plane") || len(limits.Spec.Limits) != 1 || limits.Spec.Limits[0].Default.Memory().IsZero() {
		t.Fatalf("the limits are %v", limits.Spec.Limits)
	}
	ns := &corev1.Namespace{}
	e.Must(e.Admin().Get(t.Context(), client.ObjectKey{Name: plane}, ns))
	if got, want := ns.Annotations[hyperv1.PublishedNamesAnnotation], ".demo.hypershift.local,api.example.com,oauth.example.com"; got != want {
		t.Errorf("the namespace publishes %q, want %q", got, want)
	}

	t.Run("again when somebody widens the quota", func(t *testing.T) {
		e.ReportTo(t)
		quota.Spec.Hard = corev1.ResourceList{}
		if err := e.Admin().Update(t.Context(), quota); err != nil {
			t.Fatal(err)
		}
		e.Run(1)
		if !e.Has(quota, "control-plane") || quota.Spec.Hard.Pods().IsZero() {
			t.Errorf("the quota is %v", quota.Spec.Hard)
		}
	})
}

const greedy = "system-node-critical"

func TestAPriorityClassThatIsNotAllowedIsRefused(t *testing.T) {
	const says = "annotation hypershift.openshift.io/control-plane-priority-class names PriorityClass system-node-critical, which this installation does not allow: use one of hypershift-control-plane, hypershift-api-critical, hypershift-etcd"
	annotate := func(class string) func(*hyperv1.HostedCluster) {
		return func(hc *hyperv1.HostedCluster) {
			hc.Annotations = map[string]string{hyperv1.ControlPlanePriorityClassAnnotation: class}
		}
	}
	classOf := func(t *testing.T, e *managementCluster) string {
		t.Helper()
		hcp := &hyperv1.HostedControlPlane{}
		if !e.Has(hcp, "demo") {
			return "no control plane"
		}
		return hcp.Annotations[hyperv1.ControlPlanePriorityClassAnnotation]
	}
	t.Run("and the last one stays", func(t *testing.T) {
		e := newEmptyManagementCluster(t)
		e.Create(privateCluster(), testenv.PullSecret())
		e.Restart()
		e.Run(3)
		e.change(annotate("hypershift-api-critical"))
		e.Run(2)
		e.ExpectCondition(hyperv1.ValidHostedClusterConfiguration, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
		e.change(annotate(greedy))
		e.Run(2)
		e.ExpectCondition(hyperv1.ValidHostedClusterConfiguration, metav1.ConditionFalse, hyperv1.InvalidConfigurationReason, says)
		if got := classOf(t, e); got != "hypershift-api-critical" {
			t.Errorf("the control plane has class %q", got)
		}
	})
	t.Run("unless the control plane has it from earlier: it is reported, and all else goes on", func(t *testing.T) {
		e := newEmptyManagementCluster(t)
		e.Create(privateCluster(), testenv.PullSecret())
		e.Restart()
		e.Run(3)
		hcp := &hyperv1.HostedControlPlane{}
		if !e.Has(hcp, "demo") {
			t.Fatal("there is no control plane")
		}
		hcp.Annotations[hyperv1.ControlPlanePriorityClassAnnotation] = greedy
		e.Update(hcp)
		e.change(annotate(greedy))
		e.change(func(hc *hyperv1.HostedCluster) { hc.Spec.Labels = map[string]hyperv1.LabelValue{"team": "a"} })
		e.Run(2)
		e.ExpectCondition(hyperv1.ValidHostedClusterConfiguration, metav1.ConditionFalse, hyperv1.InvalidConfigurationReason, says)
		if !e.Has(hcp, "demo") || hcp.Spec.Labels["team"] != "a" || classOf(t, e) != greedy {
			t.Errorf("the control plane has labels %v and class %q", hcp.Spec.Labels, classOf(t, e))
		}
	})
}

// The requests follow the number of nodes. The user's have precedence.
func TestSizeOfAControlPlane(t *testing.T) {
	const prefix = hyperv1.ResourceRequestOverrideAnnotationPrefix + "/"
	e := newEmptyManagementCluster(t)
	e.sizes = sizes.Sizes{{Nodes: 10, Requests: map[string]string{"etcd.etcd": "memory=1Gi", "kube-apiserver.kube-apiserver": "memory=3Gi"}}}
	e.Create(privateCluster(), testenv.PullSecret())
	e.Restart()
	e.Run(3)
	e.change(func(hc *hyperv1.HostedCluster) {
		hc.Annotations = map[string]string{prefix + "etcd.etcd": "memory=2Gi"}
	})
	hcp := &hyperv1.HostedControlPlane{}
	for _, step := range []struct {
		nodes             int32
		size, etcd, other string
	}{{9, "", "memory=2Gi", ""}, {10, "10", "memory=2Gi", "memory=3Gi"}, {8, "10", "memory=2Gi", "memory=3Gi"}, {7, "", "memory=2Gi", ""}} {
		if !e.Has(hcp, "demo") {
			t.Fatal("there is no control plane")
		}
		e.Change(hcp, func() { hcp.Status.NodeCount = &step.nodes })
		e.Run(2)
		e.Has(hcp, "demo")
		if got := hcp.Annotations; got[hyperv1.ControlPlaneSizeAnnotation] != step.size || got[prefix+"etcd.etcd"] != step.etcd || got[prefix+"kube-apiserver.kube-apiserver"] != step.other {
			t.Errorf("with %d nodes: %v", step.nodes, got)
		}
	}
}

func TestMemoryOfAControlPlane(t *testing.T) {
	e := newEmptyManagementCluster(t)
	e.Create(privateCluster(), testenv.PullSecret())
	e.Restart()
	e.Run(3)
	factor := func() string {
		hcp := &hyperv1.HostedControlPlane{}
		e.Has(hcp, "demo")
		return hcp.Annotations[hyperv1.MemoryLimitFactorAnnotation]
	}
	operator := &appsv1.Deployment{}
	if !e.Has(operator, "control-plane-operator") {
		t.Fatal("there is no control-plane-operator")
	}
	if limit := operator.Spec.Template.Spec.Containers[0].Resources.Limits.Memory(); limit.String() != "3840Mi" {
		t.Errorf("the control-plane-operator is limited to %s", limit)
	}
	for _, tc := range []struct {
		text, factor string
		status       metav1.ConditionStatus
		says         string
	}{
		{text: "", factor: "64", status: metav1.ConditionTrue},
		{text: "128", factor: "128", status: metav1.ConditionTrue},
		{text: "257", factor: "128", status: metav1.ConditionFalse, says: `annotation hypershift.openshift.io/memory-limit-factor is "257": write a whole number from 1 to 256`},
		{text: "0", factor: "128", status: metav1.ConditionFalse, says: `is "0"`},
	} {
		e.change(func(hc *hyperv1.HostedCluster) {
			hc.Annotations = map[string]string{hyperv1.MemoryLimitFactorAnnotation: tc.text}
		})
		e.Run(2)
		reason := hyperv1.AsExpectedReason
		if tc.status == metav1.ConditionFalse {
			reason = hyperv1.InvalidConfigurationReason
		}
		e.ExpectCondition(hyperv1.ValidHostedClusterConfiguration, tc.status, reason, tc.says)
		if got := factor(); got != tc.factor {
			t.Errorf("annotation %q: the control plane has factor %q, want %q", tc.text, got, tc.factor)
		}
	}
}

// A LimitRange refuses pods with a container above the largest one, and nothing but its events would tell.
func TestLargeRequestsFitIntoTheLimitRange(t *testing.T) {
	const key = hyperv1.ResourceRequestOverrideAnnotationPrefix + "/control-plane-operator.control-plane-operator"
	e := newEmptyManagementCluster(t)
	e.Create(privateCluster(), testenv.PullSecret())
	e.Restart()
	e.Run(3)
	for _, tc := range []struct {
		request, want string
		status        metav1.ConditionStatus
		says          string
	}{
		{request: "memory=500Mi", want: "500Mi 32000Mi", status: metav1.ConditionTrue},
		{request: "memory=3Gi", want: "3Gi 64Gi", status: metav1.ConditionTrue},
		{request: "memory=64Gi", want: "64Gi 64Gi", status: metav1.ConditionTrue},
		{request: "memory=65Gi", want: "64Gi 64Gi", status: metav1.ConditionFalse, says: "annotation " + key + " requests 65Gi of memory: this installation allows 64Gi for a container"},
	} {
		e.change(func(hc *hyperv1.HostedCluster) { hc.Annotations = map[string]string{key: tc.request} })
		e.Run(2)
		reason := hyperv1.AsExpectedReason
		if tc.status == metav1.ConditionFalse {
			reason = hyperv1.InvalidConfigurationReason
		}
		e.ExpectCondition(hyperv1.ValidHostedClusterConfiguration, tc.status, reason, tc.says)
		operator := &appsv1.Deployment{}
		e.Has(operator, "control-plane-operator")
		r := operator.Spec.Template.Spec.Containers[0].Resources
		if got := r.Requests.Memory().String() + " " + r.Limits.Memory().String(); got != tc.want {
			t.Errorf("%s: request and limit are %s, want %s", tc.request, got, tc.want)
		}
	}
	hcp := &hyperv1.HostedControlPlane{}
	if e.Has(hcp, "demo"); hcp.Annotations[hyperv1.MemoryLimitMaxAnnotation] != "64Gi" {
		t.Errorf("the HostedControlPlane has the annotations %v", hcp.Annotations)
	}
}
