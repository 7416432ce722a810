package clusterautoscaler

import (
	"context"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/config/rbac"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/fixture"
)

// On a real API server, the service account may make the calls of the cluster autoscaler's provider clusterapi, and no others.
func TestContractOnARealAPIServer(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		utilruntime.Must(add(scheme))
	}
	crds, err := fixture.DefaultCRDs()
	if err != nil {
		t.Fatal(err)
	}
	f, err := fixture.Start(t.Context(), fixture.Options{Progress: t.Output(), CRDs: crds})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Stop(); err != nil {
			t.Error(err)
		}
	})
	admin, err := client.New(f.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	hc := &hyperv1.HostedCluster{}
	hc.Namespace, hc.Name = "clusters", "demo"
	plane := controlplane.NamespaceOf(hc)
	objs, err := component.Render(Component, &controlplane.Target{
		Namespace: plane, Images: map[string]string{names.ClusterAutoscaler: "registry/cluster-autoscaler:1", controlplane.OperatorImage: "registry/operator:1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	machine := clusterv1.MachineSpec{
		ClusterName: "demo-x", Version: "v1.36.3", Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("user-data")},
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "AWSMachineTemplate", Name: "workers"},
	}
	labels := map[string]string{"pool": "workers"}
	at := metav1.ObjectMeta{Namespace: plane.Name, Name: "workers", Labels: labels}
	template := clusterv1.MachineTemplateSpec{ObjectMeta: clusterv1.ObjectMeta{Labels: labels}, Spec: machine}
	selector := metav1.LabelSelector{MatchLabels: labels}
	md := &clusterv1.MachineDeployment{ObjectMeta: at, Spec: clusterv1.MachineDeploymentSpec{ClusterName: "demo-x", Replicas: ptr.To[int32](1), Selector: selector, Template: template}}
	ms := &clusterv1.MachineSet{ObjectMeta: at, Spec: clusterv1.MachineSetSpec{ClusterName: "demo-x", Replicas: ptr.To[int32](1), Selector: selector, Template: template}}
	m := &clusterv1.Machine{ObjectMeta: at, Spec: machine}
	ns := func(name string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	other := md.DeepCopy()
	other.Namespace = "other"
	for _, obj := range append([]client.Object{ns(plane.Name), ns("other"), rbac.Role(names.ClusterAutoscaler), other, md, ms, m}, objs...) { // the API server accepts the Deployment, too
		if err := admin.Create(t.Context(), obj); err != nil {
			t.Fatalf("creating %T %s: %v", obj, obj.GetName(), err)
		}
	}

	config := rest.CopyConfig(f.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + plane.Name + ":" + names.ClusterAutoscaler, Groups: []string{"system:serviceaccounts", "system:authenticated"}}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	in := client.InNamespace(plane.Name)
	scale := func(ctx context.Context, obj client.Object, to int32) error {
		s := &autoscalingv1.Scale{}
		if err := c.SubResource("scale").Get(ctx, obj, s); err != nil {
			return err
		}
		s.Spec.Replicas = to
		return c.SubResource("scale").Update(ctx, obj, client.WithSubResourceBody(s))
	}
	for what, do := range map[string]func(context.Context) error{
		"finding groups":              func(ctx context.Context) error { return c.List(ctx, &clusterv1.MachineDeploymentList{}, in) },
		"finding sets of a group":     func(ctx context.Context) error { return c.List(ctx, &clusterv1.MachineSetList{}, in) },
		"finding machines of a group": func(ctx context.Context) error { return c.List(ctx, &clusterv1.MachineList{}, in) },
		"reading the capacity":        func(ctx context.Context) error { return c.List(ctx, &infrav1.AWSMachineTemplateList{}, in) },
		"scaling a group":             func(ctx context.Context) error { return scale(ctx, md.DeepCopy(), 3) },
		"marking a machine": func(ctx context.Context) error {
			marked := m.DeepCopy()
			marked.Annotations = map[string]string{clusterv1.DeleteMachineAnnotation: "now"}
			return c.Update(ctx, marked)
		},
	} {
		if err := do(t.Context()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(md), md); err != nil || *md.Spec.Replicas != 3 {
		t.Errorf("the group has %d machines after it was scaled to 3 (%v)", *md.Spec.Replicas, err)
	}
	for what, do := range map[string]func(context.Context) error{
		"reading Secrets":               func(ctx context.Context) error { return c.List(ctx, &corev1.SecretList{}, in) },
		"deleting a machine":            func(ctx context.Context) error { return c.Delete(ctx, m.DeepCopy()) },
		"changing a MachineDeployment":  func(ctx context.Context) error { return c.Update(ctx, md.DeepCopy()) },
		"scaling a MachineSet":          func(ctx context.Context) error { return scale(ctx, ms.DeepCopy(), 3) },
		"scaling in another namespace":  func(ctx context.Context) error { return scale(ctx, other.DeepCopy(), 3) },
		"finding groups of the cluster": func(ctx context.Context) error { return c.List(ctx, &clusterv1.MachineDeploymentList{}) },
		"creating a pod": func(ctx context.Context) error {
			return c.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: plane.Name, Name: "x"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}}})
		},
	} {
		if err := do(t.Context()); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
