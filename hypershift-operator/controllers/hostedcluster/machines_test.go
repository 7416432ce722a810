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
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// clusterAPI acts for Cluster API, its provider and the controller that makes machines of a node pool: one each. It works only with its
// prerequisites.
func (e *managementCluster) clusterAPI(ctx context.Context) error {
	c := e.Admin()
	var pools hyperv1.NodePoolList
	if err := c.List(ctx, &pools); err != nil {
		return err
	}
	cluster := &clusterv1.Cluster{}
	able, err := e.able(ctx, cluster)
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
		errs = append(errs, e.machinesOf(ctx, &pools.Items[i], able))
	}
	return errors.Join(errs...)
}

// able says whether machines can be made and taken away.
func (e *managementCluster) able(ctx context.Context, cluster *clusterv1.Cluster) (bool, error) {
	at := func(name string) client.ObjectKey { return client.ObjectKey{Namespace: plane, Name: name} }
	for _, needed := range []struct {
		obj  client.Object
		name string
	}{
		{cluster, "demo-x"}, {&infrav1.AWSCluster{}, "demo"}, {&appsv1.Deployment{}, names.ClusterAPI},
		{&corev1.Secret{}, names.ServiceAccountSigningKey},
	} {
		if err := e.Admin().Get(ctx, at(needed.name), needed.obj); err != nil {
			return false, client.IgnoreNotFound(err)
		}
	}
	return !ptr.Deref(cluster.Spec.Paused, false) && !e.stopped(ctx), nil
}

func (e *managementCluster) machinesOf(ctx context.Context, np *hyperv1.NodePool, able bool) error {
	c := e.Admin()
	machine, instance := &clusterv1.Machine{}, &infrav1.AWSMachine{}
	key := client.ObjectKey{Namespace: plane, Name: np.Name + "-1"}
	err := errors.Join(client.IgnoreNotFound(c.Get(ctx, key, machine)), client.IgnoreNotFound(c.Get(ctx, key, instance)))
	gone := machine.Name == "" && instance.Name == ""
	switch {
	case err != nil:
		return err
	case np.DeletionTimestamp.IsZero() && e.sleepPhase(ctx) == hyperv1.SleepPhaseRemovingMachines:
		if gone || !able || e.stuck {
			return nil
		}
		err := errors.Join(client.IgnoreNotFound(c.Delete(ctx, machine)), client.IgnoreNotFound(c.Delete(ctx, instance)))
		for _, obj := range []client.Object{machine, instance} {
			err = errors.Join(err, client.IgnoreNotFound(c.Get(ctx, key, obj)))
		}
		return errors.Join(err, e.release(ctx, instance, infrav1.MachineFinalizer), e.release(ctx, machine, clusterv1.MachineFinalizer))
	case np.DeletionTimestamp.IsZero() && gone && able && e.home(ctx):
		made := metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}
		machine.ObjectMeta, instance.ObjectMeta = made, made
		machine.Finalizers, instance.Finalizers = []string{clusterv1.MachineFinalizer}, []string{infrav1.MachineFinalizer}
		instance.Spec.InstanceID = ptr.To("i-1")
		return errors.Join(c.Create(ctx, instance), c.Create(ctx, machine))
	case !np.DeletionTimestamp.IsZero() && gone:
		return e.release(ctx, np, hyperv1.HostedClusterFinalizer)
	case !np.DeletionTimestamp.IsZero():
		err := errors.Join(client.IgnoreNotFound(c.Delete(ctx, machine)), client.IgnoreNotFound(c.Delete(ctx, instance)))
		if err != nil || !able || e.stuck {
			return err
		}
		if err := errors.Join(client.IgnoreNotFound(c.Get(ctx, key, machine)), client.IgnoreNotFound(c.Get(ctx, key, instance))); err != nil {
			return err
		}
		e.terminated++
		return errors.Join(e.release(ctx, instance, infrav1.MachineFinalizer), e.release(ctx, machine, clusterv1.MachineFinalizer), e.release(ctx, np, hyperv1.HostedClusterFinalizer))
	}
	return nil
}

// home reports whether the namespace belongs to the node pool's present HostedCluster.
func (e *managementCluster) home(ctx context.Context) bool {
	hc := privateCluster()
	err := e.Admin().Get(ctx, client.ObjectKeyFromObject(hc), hc)
	ns := &corev1.Namespace{}
	return err == nil && e.existsIn(ctx, ns, client.ObjectKey{Name: plane}) && controlplane.Owns(hc, ns)
}

// With machines its objects are needed at once, and without them not at all.
func TestAClusterIsPresentedWithItsFirstNodePool(t *testing.T) {
	for name, with := range map[string]client.Object{"without machines": nil, "with a node pool": pool()} {
		t.Run(name, func(t *testing.T) {
			e := newEmptyManagementCluster(t)
			e.silent = true // no control-plane-operator reports an address
			e.Create(testenv.PullSecret(), privateCluster())
			if with != nil {
				e.Create(with)
			}
			e.Restart()
			e.Run(5)
			if made := e.Has(&clusterv1.Cluster{}, "demo-x"); made != (with != nil) {
				t.Errorf("before the address is known, it is presented: %v", made)
			}
			e.silent = false
			e.Run(5)
			cluster, infra := &clusterv1.Cluster{}, &infrav1.AWSCluster{}
			if with == nil {
				if e.Has(cluster, "demo-x") || e.Has(infra, "demo") {
					t.Error("it is presented")
				}
				return
			}
			if !e.Has(cluster, "demo-x") || !e.Has(infra, "demo") {
				t.Fatal("it is not presented")
			}
			if want := names.LocalAPI("demo"); cluster.Spec.ControlPlaneEndpoint.Host != want || infra.Spec.ControlPlaneEndpoint.Host != want {
				t.Errorf("presented at %+v and %+v, want %s", cluster.Spec.ControlPlaneEndpoint, infra.Spec.ControlPlaneEndpoint, want)
			}
		})
	}
}

func TestMachineControllersRunOnlyForNodePools(t *testing.T) {
	e := newEmptyManagementCluster(t)
	e.Create(testenv.PullSecret(), privateCluster())
	e.Restart()
	e.Run(5)
	controllers := func() bool {
		t.Helper()
		deployment := &appsv1.Deployment{}
		core := e.Has(deployment, names.ClusterAPI)
		provider := slices.ContainsFunc(deployment.Spec.Template.Spec.Containers, func(c corev1.Container) bool { return c.Name == "capi-provider-manager" })
		binding := e.Admin().Get(t.Context(), client.ObjectKey{Name: "hypershift-cluster-api-" + plane}, &rbacv1.ClusterRoleBinding{})
		if core != provider || core != !apierrors.IsNotFound(binding) {
			t.Fatalf("Cluster API %v, its provider %v, their binding: %v", core, provider, binding)
		}
		return core
	}
	if controllers() {
		t.Error("controllers of machines run for a cluster that has no node pool")
	}
	e.Create(pool())
	e.Run(3)
	if !controllers() {
		t.Error("nothing makes machines for the node pool")
	}
	if !e.Has(&clusterv1.Cluster{}, "demo-x") || !e.Has(&infrav1.AWSCluster{}, "demo") {
		t.Error("the cluster is not shown to Cluster API")
	}
	e.Delete(pool())
	e.Must(e.Try())
	if !controllers() {
		t.Error("the controllers went before the machines")
	}
	e.Run(5)
	if controllers() {
		t.Error("the last node pool is gone, and its controllers still run")
	}
}

func TestTheClusterAutoscalerRunsWhileANodePoolScales(t *testing.T) {
	e := newEmptyManagementCluster(t)
	scaling := pool()
	scaling.Spec.Replicas, scaling.Spec.AutoScaling = nil, &hyperv1.NodePoolAutoScaling{Min: ptr.To[int32](1), Max: 3}
	e.Create(testenv.PullSecret(), privateCluster(), scaling)
	e.releases.Put(fakerelease.With(fakerelease.Kubernetes(firstRelease, "1.35.4"), func(rel *release.Release) {
		rel.Components[names.ClusterAutoscaler] = "example.test/cluster-autoscaler:1"
	}))
	e.Restart()
	e.Run(5)
	check := func(when string, want bool) {
		t.Helper()
		hcp := &hyperv1.HostedControlPlane{}
		e.Must(e.Admin().Get(t.Context(), client.ObjectKey{Namespace: plane, Name: "demo"}, hcp))
		if runs := e.Has(&appsv1.Deployment{}, names.ClusterAutoscaler); runs != want {
			t.Errorf("%s: it runs: %v", when, runs)
		}
		if granted := hcp.Annotations[hyperv1.ClusterAutoscalerAnnotation] == "true"; granted != want {
			t.Errorf("%s: it has an identity in the hosted cluster: %v", when, granted)
		}
	}
	check("a node pool has autoScaling", true)

	annotate := func(annotations map[string]string) {
		t.Helper()
		hc := e.hc()
		hc.Annotations = annotations
		e.Update(hc)
	}
	annotate(map[string]string{hyperv1.DisableClusterAutoscalerAnnotation: "true"})
	e.Run(3)
	check("the user has disabled it", false)

	annotate(nil)
	e.Run(3)
	check("the user has enabled it again", true)

	e.Get(scaling)
	scaling.Spec.Replicas, scaling.Spec.AutoScaling = ptr.To[int32](1), nil
	e.Update(scaling)
	e.Run(3)
	check("no node pool has autoScaling", false)
}

func TestAWSClusterIsReadyAndInOtherHands(t *testing.T) {
	e := newManagementCluster(t)
	e.Run(5)
	c := &infrav1.AWSCluster{}
	if !e.Has(c, "demo") || !c.Status.Ready || c.Annotations[clusterv1.ManagedByAnnotation] == "" || c.Spec.NetworkSpec.VPC.ID != "vpc-1" || c.Spec.Region != region {
		t.Errorf("got %+v", c)
	}
}

func TestAPauseReachesTheMachines(t *testing.T) {
	e := newManagementCluster(t)
	e.Run(5)
	paused := func() bool {
		t.Helper()
		c := &clusterv1.Cluster{}
		if !e.Has(c, "demo-x") {
			t.Fatal("there is no Cluster")
		}
		return ptr.Deref(c.Spec.Paused, false)
	}
	if paused() {
		t.Error("paused from the start")
	}
	hc := e.hc()
	hc.Spec.PausedUntil = ptr.To[hyperv1.PausedUntil]("true")
	e.Update(hc)
	e.Run(2)
	if !paused() {
		t.Error("Cluster API does not know of the pause")
	}
	// A pause does not stop the deletion of a node pool, which needs Cluster API.
	e.Delete(pool())
	e.Run(5)
	if err := e.Admin().Get(t.Context(), client.ObjectKeyFromObject(pool()), &hyperv1.NodePool{}); !apierrors.IsNotFound(err) {
		t.Errorf("the node pool is still there: %v", err)
	}
	if !paused() {
		t.Error("the pause was not taken up again")
	}
}

func TestMachinesThatCannotBeDeletedAreRecorded(t *testing.T) {
	e := newManagementCluster(t)
	e.Run(10)
	if !e.Has(&infrav1.AWSMachine{}, "workers-1") {
		t.Fatal("there is no machine")
	}
	e.stuck = true
	e.identity(metav1.ConditionFalse)
	e.Delete(privateCluster())
	e.Run(3)
	c := e.Condition(hyperv1.HostedClusterDestroyed)
	if !strings.Contains(c.Message, "node pools workers") {
		t.Errorf("the user is told %q", c.Message)
	}
	e.Clock.Step(orphanAfter)
	e.Run(2)
	c = e.Condition(hyperv1.CloudResourcesDestroyed)
	if c.Reason != hyperv1.CloudResourcesCleanupSkippedReason || !strings.Contains(c.Message, "EC2 instance i-1") {
		t.Errorf("%s: %q", c.Reason, c.Message)
	}
	if e.Has(&infrav1.AWSMachine{}, "workers-1") {
		t.Error("the machine is still held")
	}
}

// The AWS provider of Cluster API does not delete the AWSMachine of a terminated instance without credentials.
func TestATerminatedInstanceIsNotRecordedAsLeft(t *testing.T) {
	e := newManagementCluster(t)
	e.change(func(hc *hyperv1.HostedCluster) {
		hc.Annotations = map[string]string{hyperv1.DestroyGracePeriodAnnotation: "24h"}
	})
	e.Restart()
	e.Run(10)
	machine := &infrav1.AWSMachine{}
	if !e.Has(machine, "workers-1") {
		t.Fatal("there is no machine")
	}
	machine.Status.InstanceState = ptr.To(infrav1.InstanceStateTerminated)
	e.Update(machine)
	e.stuck = true
	e.identity(metav1.ConditionFalse)
	e.Delete(privateCluster())
	e.Run(3)
	if !e.Has(machine, "workers-1") {
		t.Error("the machine is gone before the credentials had a chance to be repaired")
	}
	e.Clock.Step(orphanAfter)
	e.Run(2)
	if e.Has(machine, "workers-1") {
		t.Error("the machine still exists")
	}
	hc := e.hc()
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
	e := newManagementCluster(t)
	e.Run(10)
	for _, obj := range []client.Object{&clusterv1.Cluster{}, &infrav1.AWSCluster{}} {
		e.Must(e.Admin().DeleteAllOf(t.Context(), obj, client.InNamespace(plane)))
	}
	e.Run(2)
	e.ExpectCondition(hyperv1.ReconciliationSucceeded, metav1.ConditionFalse, hyperv1.DeletingReason, "a user has deleted Cluster demo-x and AWSCluster demo")
	if !e.Has(&infrav1.AWSCluster{}, "demo") {
		t.Fatal("the AWSCluster went before the machine that needs it")
	}
	e.Delete(pool())
	e.Run(4)
	c := &clusterv1.Cluster{}
	if e.Has(c, "demo-x") {
		t.Errorf("it is not released without machines: %+v", c.ObjectMeta)
	}
	e.Create(pool())
	e.Run(4)
	if !e.Has(c, "demo-x") || !c.DeletionTimestamp.IsZero() {
		t.Errorf("it is not made again: %+v", c.ObjectMeta)
	}
	e.ExpectCondition(hyperv1.ReconciliationSucceeded, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
}

// A user may delete them when the last node pool and its controllers are gone.
func TestADeletedClusterIsReleasedWithoutControllers(t *testing.T) {
	e := newManagementCluster(t)
	e.Run(10)
	e.Delete(pool())
	e.Run(8)
	for _, obj := range []client.Object{&clusterv1.Cluster{}, &infrav1.AWSCluster{}} {
		e.Must(e.Admin().DeleteAllOf(t.Context(), obj, client.InNamespace(plane)))
	}
	e.Run(4)
	if e.Has(&clusterv1.Cluster{}, "demo-x") || e.Has(&infrav1.AWSCluster{}, "demo") {
		t.Error("they are not released")
	}
	e.ExpectCondition(hyperv1.ReconciliationSucceeded, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
}
