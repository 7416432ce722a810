package hostedcluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/components"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/components/capiprovider"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/test/fakerelease"
)

// clusterAPI acts for Cluster API, its provider and the controller that makes machines of a node pool: one each. It works only with its
// prerequisites.
func (w *testEnv) clusterAPI(ctx context.Context) error {
	c := w.Admin()
	var pools hyperv1.NodePoolList
	if err := c.List(ctx, &pools); err != nil {
		return err
	}
	cluster := &clusterv1.Cluster{}
	able, err := w.able(ctx, cluster)
	if err != nil {
		return err
	}
	if able && !slices.Contains(cluster.Finalizers, clusterv1.ClusterFinalizer) && cluster.DeletionTimestamp.IsZero() {
		cluster.Finalizers = append(cluster.Finalizers, clusterv1.ClusterFinalizer)
		if err := c.Update(ctx, cluster); err != nil {
			return err
		}
	}
	var errs []error
	for i := range pools.Items {
		errs = append(errs, w.machinesOf(ctx, &pools.Items[i], able))
	}
	return errors.Join(errs...)
}

// able says whether machines can be made and taken away.
func (w *testEnv) able(ctx context.Context, cluster *clusterv1.Cluster) (bool, error) {
	at := func(name string) client.ObjectKey { return client.ObjectKey{Namespace: plane, Name: name} }
	for _, needed := range []struct {
		obj  client.Object
		name string
	}{
		{cluster, "demo-x"}, {&infrav1.AWSCluster{}, "demo"}, {&appsv1.Deployment{}, names.ClusterAPI}, {&appsv1.Deployment{}, names.CAPIProvider},
		{&corev1.Secret{}, names.ServiceAccountSigningKey},
	} {
		if err := w.Admin().Get(ctx, at(needed.name), needed.obj); err != nil {
			return false, client.IgnoreNotFound(err)
		}
	}
	return !ptr.Deref(cluster.Spec.Paused, false), nil
}

func (w *testEnv) machinesOf(ctx context.Context, np *hyperv1.NodePool, able bool) error {
	c := w.Admin()
	machine, instance := &clusterv1.Machine{}, &infrav1.AWSMachine{}
	key := client.ObjectKey{Namespace: plane, Name: np.Name + "-1"}
	err := errors.Join(client.IgnoreNotFound(c.Get(ctx, key, machine)), client.IgnoreNotFound(c.Get(ctx, key, instance)))
	gone := machine.Name == "" && instance.Name == ""
	switch {
	case err != nil:
		return err
	case np.DeletionTimestamp.IsZero() && gone && able && w.home(ctx):
		made := metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}
		machine.ObjectMeta, instance.ObjectMeta = made, made
		machine.Finalizers, instance.Finalizers = []string{clusterv1.MachineFinalizer}, []string{infrav1.MachineFinalizer}
		instance.Spec.InstanceID = ptr.To("i-1")
		return errors.Join(c.Create(ctx, instance), c.Create(ctx, machine))
	case !np.DeletionTimestamp.IsZero() && gone:
		return w.release(ctx, np, hyperv1.HostedClusterFinalizer)
	case !np.DeletionTimestamp.IsZero():
		err := errors.Join(client.IgnoreNotFound(c.Delete(ctx, machine)), client.IgnoreNotFound(c.Delete(ctx, instance)))
		if err != nil || !able || w.stuck {
			return err
		}
		if err := errors.Join(client.IgnoreNotFound(c.Get(ctx, key, machine)), client.IgnoreNotFound(c.Get(ctx, key, instance))); err != nil {
			return err
		}
		return errors.Join(w.release(ctx, instance, infrav1.MachineFinalizer), w.release(ctx, machine, clusterv1.MachineFinalizer), w.release(ctx, np, hyperv1.HostedClusterFinalizer))
	}
	return nil
}

// home reports whether the namespace belongs to the node pool's present HostedCluster.
func (w *testEnv) home(ctx context.Context) bool {
	hc, err := w.get(ctx)
	ns := &corev1.Namespace{}
	return err == nil && w.existsIn(ctx, ns, client.ObjectKey{Name: plane}) && controlplane.Owns(hc, ns)
}

// has says whether an object of that name is in the control plane's namespace.
func (w *testEnv) has(t testing.TB, obj client.Object, name string) bool {
	t.Helper()
	err := w.Admin().Get(t.Context(), client.ObjectKey{Namespace: plane, Name: name}, obj)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err == nil
}

// Otherwise its objects would be written twice. With machines they are needed at once.
func TestAClusterWithoutMachinesIsPresentedWithItsAddress(t *testing.T) {
	for name, with := range map[string]client.Object{"without machines": nil, "with a node pool": pool()} {
		t.Run(name, func(t *testing.T) {
			w := emptyTestEnv(t)
			w.silent = true // no control-plane-operator reports an address
			w.Create(t, pullSecret(), privateCluster())
			if with != nil {
				w.Create(t, with)
			}
			pass := w.start()
			w.run(t, pass, 5)
			if made := w.has(t, &clusterv1.Cluster{}, "demo-x"); made != (with != nil) {
				t.Errorf("before the address is known, it is presented: %v", made)
			}
			w.silent = false
			w.run(t, pass, 5)
			cluster, infra := &clusterv1.Cluster{}, &infrav1.AWSCluster{}
			if !w.has(t, cluster, "demo-x") || !w.has(t, infra, "demo") {
				t.Fatal("it is not presented")
			}
			if want := names.LocalAPI("demo"); cluster.Spec.ControlPlaneEndpoint.Host != want || infra.Spec.ControlPlaneEndpoint.Host != want {
				t.Errorf("presented at %+v and %+v, want %s", cluster.Spec.ControlPlaneEndpoint, infra.Spec.ControlPlaneEndpoint, want)
			}
		})
	}
}

func TestMachineControllersRunOnlyForNodePools(t *testing.T) {
	w := emptyTestEnv(t)
	w.Create(t, pullSecret(), privateCluster())
	pass := w.start()
	w.run(t, pass, 5)
	controllers := func() bool {
		t.Helper()
		core, provider := w.has(t, &appsv1.Deployment{}, names.ClusterAPI), w.has(t, &appsv1.Deployment{}, names.CAPIProvider)
		binding := w.Admin().Get(t.Context(), client.ObjectKey{Name: "hypershift-cluster-api-" + plane}, &rbacv1.ClusterRoleBinding{})
		if core != provider || core != !apierrors.IsNotFound(binding) {
			t.Fatalf("Cluster API %v, its provider %v, their binding: %v", core, provider, binding)
		}
		return core
	}
	if controllers() {
		t.Error("controllers of machines run for a cluster that has no node pool")
	}
	if !w.has(t, &clusterv1.Cluster{}, "demo-x") || !w.has(t, &infrav1.AWSCluster{}, "demo") {
		t.Error("the cluster is not shown to Cluster API")
	}
	w.Create(t, pool())
	w.run(t, pass, 3)
	if !controllers() {
		t.Error("nothing makes machines for the node pool")
	}
	if err := w.Admin().Delete(t.Context(), pool()); err != nil {
		t.Fatal(err)
	}
	if err := pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !controllers() {
		t.Error("the controllers went before the machines")
	}
	w.run(t, pass, 5)
	if controllers() {
		t.Error("the last node pool is gone, and its controllers still run")
	}
}

func TestTheClusterAutoscalerRunsWhileANodePoolScales(t *testing.T) {
	w := emptyTestEnv(t)
	scaling := pool()
	scaling.Spec.Replicas, scaling.Spec.AutoScaling = nil, &hyperv1.NodePoolAutoScaling{Min: ptr.To[int32](1), Max: 3}
	w.Create(t, pullSecret(), privateCluster(), scaling)
	w.releases.Put(fakerelease.With(fakerelease.Kubernetes(firstRelease, "1.35.4"), func(rel *release.Release) {
		rel.Components[names.ClusterAutoscaler] = "example.test/cluster-autoscaler:1"
	}))
	pass := w.start()
	w.run(t, pass, 5)
	check := func(when string, want bool) {
		t.Helper()
		hcp := &hyperv1.HostedControlPlane{}
		if err := w.Admin().Get(t.Context(), client.ObjectKey{Namespace: plane, Name: "demo"}, hcp); err != nil {
			t.Fatal(err)
		}
		if runs := w.has(t, &appsv1.Deployment{}, names.ClusterAutoscaler); runs != want {
			t.Errorf("%s: it runs: %v", when, runs)
		}
		if granted := hcp.Annotations[hyperv1.ClusterAutoscalerAnnotation] == "true"; granted != want {
			t.Errorf("%s: it has an identity in the hosted cluster: %v", when, granted)
		}
	}
	check("a node pool has autoScaling", true)

	annotate := func(annotations map[string]string) {
		t.Helper()
		hc, err := w.get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		hc.Annotations = annotations
		if err := w.Admin().Update(t.Context(), hc); err != nil {
			t.Fatal(err)
		}
	}
	annotate(map[string]string{hyperv1.DisableClusterAutoscalerAnnotation: "true"})
	w.run(t, pass, 3)
	check("the user has disabled it", false)

	annotate(nil)
	w.run(t, pass, 3)
	check("the user has enabled it again", true)

	if err := w.Admin().Get(t.Context(), client.ObjectKeyFromObject(scaling), scaling); err != nil {
		t.Fatal(err)
	}
	scaling.Spec.Replicas, scaling.Spec.AutoScaling = ptr.To[int32](1), nil
	if err := w.Admin().Update(t.Context(), scaling); err != nil {
		t.Fatal(err)
	}
	w.run(t, pass, 3)
	check("no node pool has autoScaling", false)
}

func TestAWSClusterIsReadyAndInOtherHands(t *testing.T) {
	w := newTestEnv(t)
	w.run(t, w.start(), 5)
	c := &infrav1.AWSCluster{}
	if !w.has(t, c, "demo") || !c.Status.Ready || c.Annotations[clusterv1.ManagedByAnnotation] == "" || c.Spec.NetworkSpec.VPC.ID != "vpc-1" || c.Spec.Region != region {
		t.Errorf("got %+v", c)
	}
}

func TestAPauseReachesTheMachines(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass, 5)
	paused := func() bool {
		t.Helper()
		c := &clusterv1.Cluster{}
		if !w.has(t, c, "demo-x") {
			t.Fatal("there is no Cluster")
		}
		return ptr.Deref(c.Spec.Paused, false)
	}
	if paused() {
		t.Error("paused from the start")
	}
	hc, err := w.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hc.Spec.PausedUntil = ptr.To[hyperv1.PausedUntil]("true")
	if err := w.Admin().Update(t.Context(), hc); err != nil {
		t.Fatal(err)
	}
	w.run(t, pass, 2)
	if !paused() {
		t.Error("Cluster API does not know of the pause")
	}
	// A pause does not stop the deletion of a node pool, which needs Cluster API.
	if err := w.Admin().Delete(t.Context(), pool()); err != nil {
		t.Fatal(err)
	}
	w.run(t, pass, 5)
	if err := w.Admin().Get(t.Context(), client.ObjectKeyFromObject(pool()), &hyperv1.NodePool{}); !apierrors.IsNotFound(err) {
		t.Errorf("the node pool is still there: %v", err)
	}
	if !paused() {
		t.Error("the pause was not taken up again")
	}
}

func TestMachinesThatCannotBeDeletedAreRecorded(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass, 10)
	if !w.has(t, &infrav1.AWSMachine{}, "workers-1") {
		t.Fatal("there is no machine")
	}
	w.stuck = true
	w.identity(t, metav1.ConditionFalse)
	if err := w.Admin().Delete(t.Context(), privateCluster()); err != nil {
		t.Fatal(err)
	}
	w.run(t, pass, 3)
	c := w.condition(t, hyperv1.HostedClusterDestroyed)
	if !strings.Contains(c.Message, "node pools workers") {
		t.Errorf("the user is told %q", c.Message)
	}
	w.clock.Step(orphanAfter)
	w.run(t, pass, 2)
	c = w.condition(t, hyperv1.CloudResourcesDestroyed)
	if c.Reason != hyperv1.CloudResourcesCleanupSkippedReason || !strings.Contains(c.Message, "EC2 instance i-1") {
		t.Errorf("%s: %q", c.Reason, c.Message)
	}
	if w.has(t, &infrav1.AWSMachine{}, "workers-1") {
		t.Error("the machine is still held")
	}
}

// The AWS provider of Cluster API does not delete the AWSMachine of a terminated instance without credentials.
func TestATerminatedInstanceIsNotRecordedAsLeft(t *testing.T) {
	w := newTestEnv(t)
	w.change(t, func(hc *hyperv1.HostedCluster) {
		hc.Annotations = map[string]string{hyperv1.DestroyGracePeriodAnnotation: "24h"}
	})
	pass := w.start()
	w.run(t, pass, 10)
	machine := &infrav1.AWSMachine{}
	if !w.has(t, machine, "workers-1") {
		t.Fatal("there is no machine")
	}
	machine.Status.InstanceState = ptr.To(infrav1.InstanceStateTerminated)
	if err := w.Admin().Update(t.Context(), machine); err != nil {
		t.Fatal(err)
	}
	w.stuck = true
	w.identity(t, metav1.ConditionFalse)
	w.remove(t, privateCluster())
	w.run(t, pass, 3)
	if !w.has(t, machine, "workers-1") {
		t.Error("the machine is gone before the credentials had a chance to be repaired")
	}
	w.clock.Step(orphanAfter)
	w.run(t, pass, 2)
	if w.has(t, machine, "workers-1") {
		t.Error("the machine still exists")
	}
	hc, err := w.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, left := range hc.Status.LeftBehind {
		if left.ID == "i-1" {
			t.Errorf("the status lists %+v, which is terminated", left)
		}
	}
}

// podsOf are the pods that this operator runs for a cluster.
func podsOf(t *testing.T, r *Reconciler, s *scope) []corev1.PodSpec {
	t.Helper()
	target := r.target(s, map[string]string{names.ClusterAPI: "core", capiprovider.Image: "provider", controlplane.OperatorImage: "operator"})
	var pods []corev1.PodSpec
	_, workloads, err := controlplane.Render(target, slices.Concat(components.ControlPlane, components.Machines))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range workloads {
		pods = append(pods, *component.AsWorkload(w).Pod())
	}
	return pods
}

func TestOnlyTheTokenMinterMountsTheSigningKey(t *testing.T) {
	s := &scope{hc: privateCluster(), plane: controlplane.NamespaceOf(privateCluster())}
	var mounts []string
	for _, pod := range podsOf(t, newReconciler(Options{Scheme: scheme}), s) {
		for _, v := range pod.Volumes {
			if v.Secret == nil || v.Secret.SecretName != names.ServiceAccountSigningKey {
				continue
			}
			for _, c := range pod.Containers {
				if slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == v.Name }) {
					mounts = append(mounts, c.Name)
				}
			}
		}
	}
	if !slices.Equal(mounts, []string{"token-minter"}) {
		t.Errorf("the key is mounted by %v", mounts)
	}
}

func TestEveryAWSClientGetsTheEndpoints(t *testing.T) {
	s := &scope{hc: privateCluster(), plane: controlplane.NamespaceOf(privateCluster())}
	endpoint := corev1.EnvVar{Name: "AWS_ENDPOINT_URL", Value: "http://aws.test"}
	var got []string
	for _, pod := range podsOf(t, newReconciler(Options{Scheme: scheme, Egress: []corev1.EnvVar{endpoint}}), s) {
		for _, c := range pod.Containers {
			if slices.Contains(c.Env, endpoint) {
				got = append(got, c.Image)
			}
		}
	}
	// The core of Cluster API does not call AWS. The sidecar runs the operator's image.
	if want := []string{"operator", "provider", "operator"}; !slices.Equal(got, want) {
		t.Errorf("the endpoints are set for %v, want %v", got, want)
	}
}

func TestMissingKindsAreReported(t *testing.T) {
	r := newReconciler(Options{Scheme: scheme, MissingCRDs: "Machine.v1beta2.cluster.x-k8s.io"})
	err := r.checkSupport(t.Context(), &scope{hc: privateCluster()})
	if err == nil || !strings.Contains(err.Error(), "does not have Machine.v1beta2.cluster.x-k8s.io: apply the files of config/crd/external") {
		t.Errorf("the user is told %v", err)
	}
}

func TestADeletedClusterIsCreatedAgainAfterItsMachines(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass, 10)
	for _, obj := range []client.Object{&clusterv1.Cluster{}, &infrav1.AWSCluster{}} {
		if err := w.Admin().DeleteAllOf(t.Context(), obj, client.InNamespace(plane)); err != nil {
			t.Fatal(err)
		}
	}
	w.run(t, pass, 2)
	w.want(t, hyperv1.ReconciliationSucceeded, metav1.ConditionFalse, hyperv1.DeletingReason, "a user has deleted Cluster demo-x and AWSCluster demo")
	if !w.has(t, &infrav1.AWSCluster{}, "demo") {
		t.Fatal("the AWSCluster went before the machine that needs it")
	}
	if err := w.Admin().Delete(t.Context(), pool()); err != nil {
		t.Fatal(err)
	}
	w.run(t, pass, 4)
	c := &clusterv1.Cluster{}
	if !w.has(t, c, "demo-x") || !c.DeletionTimestamp.IsZero() {
		t.Errorf("it is not made again: %+v", c.ObjectMeta)
	}
	w.want(t, hyperv1.ReconciliationSucceeded, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
}
