package hostedcluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/clusterapi"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/component/componenttest"
	"github.com/hosted-control-planes/hypershift/internal/loadbalancers"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

func TestDesiredOperator(t *testing.T) {
	overrides, err := release.ParseOverrides("registry.example.com=mirror.example.com")
	if err != nil {
		t.Fatal(err)
	}
	plain := &scope{hc: privateCluster()}
	plain.hc.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.NonePlatform}
	configured := &scope{hc: privateCluster(), trust: "abc", memoryFactor: 64}
	configured.hc.Annotations = map[string]string{hyperv1.RestartDateAnnotation: "today", hyperv1.ControlPlanePriorityClassAnnotation: "chosen"}
	configured.hc.Spec.Labels = map[string]hyperv1.LabelValue{"team": "a", "app": "mine", names.ManagementAccessLabel: "false"}
	configured.hc.Spec.NodeSelector = map[string]hyperv1.LabelValue{"pool": "control"}
	configured.hc.Spec.Tolerations = []corev1.Toleration{{Key: "control", Operator: corev1.TolerationOpExists}}
	for name, tc := range map[string]struct {
		s    *scope
		opts Options
	}{
		"control-plane-operator": {plain, Options{}},
		"control-plane-operator-configured": {configured, Options{
			MetricsClientCA: []byte("authority"), RegistryOverrides: overrides, SkipLoadBalancerChecks: true, Profiling: true,
			Egress:        []corev1.EnvVar{{Name: "AWS_ENDPOINT_URL", Value: "http://aws.test"}},
			LoadBalancers: loadbalancers.Settings{Class: "eks.amazonaws.com/nlb", Annotations: map[string]string{loadbalancers.Subnets: "subnet-1,subnet-2"}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.s.plane = controlplane.NamespaceOf(tc.s.hc)
			tc.opts.Scheme = scheme
			objs, err := newReconciler(tc.opts).desiredOperator(tc.s, "registry/control-plane-operator:1")
			if err != nil {
				t.Fatal(err)
			}
			componenttest.Objects(t, name, objs)
		})
	}
}

// Earlier versions had a Role for each program of each cluster.
func TestRolesOfEarlierVersionsAreRemoved(t *testing.T) {
	e := newManagementCluster(t)
	e.Run(3)
	former := map[string]string{names.ControlPlaneOperator: setOperator, names.ClusterAPI: clusterapi.ControllersSet, names.CAPIProvider: clusterapi.ControllersSet}
	for program, set := range former {
		meta := metav1.ObjectMeta{Namespace: plane, Name: program, Labels: map[string]string{apply.InventoryLabel: names.HypershiftOperator + "." + set}}
		e.Create(&rbacv1.Role{ObjectMeta: meta}, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: program}})
	}
	e.Run(1)
	for program := range former {
		if e.Has(&rbacv1.Role{}, program) || e.Has(&rbacv1.RoleBinding{}, program) {
			t.Errorf("the Role of %s or its binding are still there", program)
		}
		binding := &rbacv1.RoleBinding{}
		if !e.Has(binding, "hypershift:"+program) || binding.RoleRef.Kind != "ClusterRole" || binding.RoleRef.Name != "hypershift:"+program {
			t.Errorf("%s has no permissions: %+v", program, binding.RoleRef)
		}
	}
}
