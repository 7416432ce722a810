package hostedclusterresources

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/autonode"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/cloudcleanup"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

const destroyed = hyperv1.CloudResourcesDestroyed

// inTheCloud is a cluster with a node, a load balancer of a Service and of an Ingress, a volume that is deleted with its
// claim and a snapshot of it, a retained volume, a volume on a node's disk, and a pod that uses the first volume.
func inTheCloud(t testing.TB) *hostedCluster {
	e := newHostedCluster(t)
	e.reconcileAll()
	meta := func(namespace, name string, finalizers ...string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, Finalizers: finalizers}
	}
	volume := func(name string, policy corev1.PersistentVolumeReclaimPolicy) *corev1.PersistentVolume {
		return &corev1.PersistentVolume{ObjectMeta: meta("", name, "example.com/in-the-cloud"), Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: policy, ClaimRef: &corev1.ObjectReference{Namespace: "default", Name: name},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: "vol-" + name}},
		}}
	}
	claim := func(name string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: meta("default", name, "kubernetes.io/pvc-protection"), Spec: corev1.PersistentVolumeClaimSpec{VolumeName: name}}
	}
	balanced := &corev1.Service{ObjectMeta: meta("default", "web", "service.kubernetes.io/load-balancer-cleanup"), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
	balanced.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "a1.elb.amazonaws.com"}}
	ingress := &networkingv1.Ingress{ObjectMeta: meta("default", "shop", "ingress.k8s.aws/resources")}
	ingress.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{Hostname: "alb.elb.amazonaws.com"}}
	onDisk := volume("disk", corev1.PersistentVolumeReclaimDelete)
	onDisk.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data"}}
	for _, obj := range []client.Object{
		readyNode(e.Clock.Now()),
		balanced, ingress,
		&networkingv1.Ingress{ObjectMeta: meta("default", "by-nginx")},
		onDisk, claim("disk"),
		snapshot("VolumeSnapshot", "default", "nightly", nil),
		snapshot("VolumeSnapshotContent", "", "content", map[string]any{
			"spec": map[string]any{"deletionPolicy": "Delete", "driver": "ebs.csi.aws.com", "volumeSnapshotRef": map[string]any{"namespace": "default", "name": "nightly"}}, "status": map[string]any{"snapshotHandle": "snap-1"},
		}),
		snapshot("VolumeSnapshotContent", "", "keep", map[string]any{"spec": map[string]any{"deletionPolicy": "Retain"}}),
		&corev1.Service{ObjectMeta: meta("default", "inner"), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP}},
		volume("data", corev1.PersistentVolumeReclaimDelete), claim("data"),
		volume("keep", corev1.PersistentVolumeReclaimRetain), claim("keep"),
		&corev1.Pod{ObjectMeta: meta("default", "db"), Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}}}}},
		&corev1.Pod{ObjectMeta: meta("default", "stateless")},
	} {
		e.Must(e.hosted.Admin().Create(t.Context(), obj))
	}
	return e
}

func snapshotKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "snapshot.storage.k8s.io", Version: "v1", Kind: kind}
}

func snapshot(kind, namespace, name string, content map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: content}
	if content == nil {
		u.Object = map[string]any{}
	}
	u.SetGroupVersionKind(snapshotKind(kind))
	u.SetNamespace(namespace)
	u.SetName(name)
	u.SetFinalizers([]string{"snapshot.storage.kubernetes.io/example"})
	return u
}

// readyNode is a node that has been ready for a day.
func readyNode(now time.Time) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker"}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-24 * time.Hour))}}
	return node
}

// deleted sets the annotations of the hypershift-operator.
func (e *hostedCluster) deleted(cleanup bool) {
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Annotations = map[string]string{hyperv1.HostedClusterDeletedAnnotation: "true"}
		if cleanup {
			hcp.Annotations[hyperv1.CleanupCloudResourcesAnnotation] = "true"
		}
	})
}

// cloud simulates the cloud controllers of the hosted cluster: it deletes resources and removes finalizers.
func (e *hostedCluster) cloud(ctx context.Context) error {
	free := func(obj client.Object) error {
		obj.SetFinalizers(nil)
		return client.IgnoreNotFound(e.hosted.Admin().Update(ctx, obj))
	}
	services, pods, claims, ingresses := &corev1.ServiceList{}, &corev1.PodList{}, &corev1.PersistentVolumeClaimList{}, &networkingv1.IngressList{}
	for _, list := range []client.ObjectList{services, pods, claims, ingresses} {
		if err := e.hosted.Admin().List(ctx, list); err != nil {
			return err
		}
	}
	for i := range ingresses.Items {
		if !ingresses.Items[i].DeletionTimestamp.IsZero() {
			if err := free(&ingresses.Items[i]); err != nil {
				return err
			}
		}
	}
	if err := e.deleteSnapshots(ctx, free); err != nil {
		return err
	}
	for i := range services.Items {
		if !services.Items[i].DeletionTimestamp.IsZero() {
			if err := free(&services.Items[i]); err != nil {
				return err
			}
		}
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		if claim.DeletionTimestamp.IsZero() || e.holds(pods.Items, claim.Name) {
			continue
		}
		if err := free(claim); err != nil {
			return err
		}
		pv := &corev1.PersistentVolume{}
		if err := e.hosted.Admin().Get(ctx, client.ObjectKey{Name: claim.Spec.VolumeName}, pv); err != nil {
			return client.IgnoreNotFound(err)
		}
		if err := e.hosted.Admin().Delete(ctx, pv); err != nil {
			return err
		}
		pv.ResourceVersion = ""
		if err := e.hosted.Admin().Get(ctx, client.ObjectKeyFromObject(pv), pv); err != nil {
			return client.IgnoreNotFound(err)
		}
		if err := free(pv); err != nil {
			return err
		}
	}
	return nil
}

// deleteSnapshots simulates the controller of snapshots.
func (e *hostedCluster) deleteSnapshots(ctx context.Context, free func(client.Object) error) error {
	nightly := snapshot("VolumeSnapshot", "", "", nil)
	if err := e.hosted.Admin().Get(ctx, client.ObjectKey{Namespace: "default", Name: "nightly"}, nightly); err != nil || nightly.GetDeletionTimestamp().IsZero() {
		return client.IgnoreNotFound(err)
	}
	if err := e.hosted.Admin().Delete(ctx, snapshot("VolumeSnapshotContent", "", "content", nil)); client.IgnoreNotFound(err) != nil {
		return err
	}
	content := snapshot("VolumeSnapshotContent", "", "", nil)
	if err := e.hosted.Admin().Get(ctx, client.ObjectKey{Name: "content"}, content); client.IgnoreNotFound(err) != nil {
		return err
	} else if err == nil {
		if err := free(content); err != nil {
			return err
		}
	}
	return free(nightly)
}

func (e *hostedCluster) holds(pods []corev1.Pod, claim string) bool {
	for _, p := range pods {
		if len(p.Spec.Volumes) > 0 && p.DeletionTimestamp.IsZero() && p.Spec.Volumes[0].PersistentVolumeClaim.ClaimName == claim {
			return true
		}
	}
	return false
}

// Cloud resources are deleted before the API server. Retained volumes stay.
func TestCleanupDeletesCloudResources(t *testing.T) {
	e := inTheCloud(t)
	e.deleted(true)
	for e.ConditionText(destroyed) == "nothing" {
		e.Once()
	}
	for !strings.Contains(e.ConditionText(destroyed), "CloudResourcesRemaining") {
		e.Once()
	}
	e.ExpectConditionText(destroyed, "False CloudResourcesRemaining: load balancer a1.elb.amazonaws.com of Service default/web, "+
		"load balancer alb.elb.amazonaws.com of Ingress default/shop, snapshot snap-1 of VolumeSnapshotContent content, volume vol-data of PersistentVolume data")
	want := []hyperv1.LeftBehindResource{
		{Service: "ELB", Type: "load balancer", ID: "a1.elb.amazonaws.com"}, {Service: "ELB", Type: "load balancer", ID: "alb.elb.amazonaws.com"},
		{Service: "EC2", Type: "snapshot", ID: "snap-1"}, {Service: "EC2", Type: "volume", ID: "vol-data"},
	}
	if got := e.hcp().Status.RemainingCloudResources; !slices.Equal(got, want) {
		t.Errorf("status lists %v, want %v", got, want)
	}
	if !e.inside("", "hypershift-no-new-cloud-resources", &admissionregistrationv1.ValidatingAdmissionPolicy{}) {
		t.Error("nobody keeps users from making more")
	}
	for range 4 {
		e.Must(e.cloud(t.Context()))
		e.Once()
	}
	e.ExpectConditionText(destroyed, "True AsExpected: All is well")
	if left := e.hcp().Status.RemainingCloudResources; len(left) > 0 {
		t.Errorf("status lists %v", left)
	}
	for _, c := range []struct {
		namespace, name string
		obj             client.Object
	}{{"default", "inner", &corev1.Service{}}, {"", "keep", &corev1.PersistentVolume{}}, {"default", "keep", &corev1.PersistentVolumeClaim{}},
		{"", "disk", &corev1.PersistentVolume{}}, {"default", "by-nginx", &networkingv1.Ingress{}}, {"", "keep", snapshot("VolumeSnapshotContent", "", "", nil)},
		{"default", "stateless", &corev1.Pod{}}} {
		if !e.inside(c.namespace, c.name, c.obj) {
			t.Errorf("%T %s is gone", c.obj, c.name)
		}
	}
}

// The deletion of a cluster without cloud resources does not wait for permissions and policies. They follow while its
// machines are deleted.
func TestEmptyClusterIsReportedInOneReconcile(t *testing.T) {
	e := newHostedCluster(t)
	e.reconcileAll()
	written := len(e.written)
	e.deleted(true)
	e.Once()
	e.ExpectConditionText(destroyed, "True AsExpected: All is well")
	if writes := e.written[written:]; len(writes) > 0 {
		t.Errorf("wrote %v in the hosted cluster", writes)
	}
	for e.RequeueAfter < interval {
		if e.RequeueAfter > cloudcleanup.Interval {
			t.Fatalf("the next reconcile is after %s", e.RequeueAfter)
		}
		e.Clock.Step(e.RequeueAfter)
		e.Once()
		e.ExpectConditionText(destroyed, "True AsExpected: All is well")
	}
	if !e.inside("", "hypershift-no-new-cloud-resources", &admissionregistrationv1.ValidatingAdmissionPolicy{}) {
		t.Error("the hosted cluster may create more")
	}
	e.Must(e.hosted.Admin().Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "late", Finalizers: []string{"service.kubernetes.io/load-balancer-cleanup"}}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
	}))
	e.Once()
	e.ExpectConditionText(destroyed, "False CloudResourcesRemaining: load balancer of Service default/late")
}

// The clean-up does not wait for a controller that does not run. Its resources are listed with a reason.
func TestCleanupDoesNotAwaitControllersThatDoNotRun(t *testing.T) {
	const lost = "nothing deletes load balancer alb.elb.amazonaws.com of Ingress default/shop, snapshot snap-1 of VolumeSnapshotContent content, volume vol-data of PersistentVolume data: the controllers do not run in the hosted cluster"
	renewed := func(name string, ago time.Duration) func(*hostedCluster) {
		return func(e *hostedCluster) {
			e.Must(e.hosted.Admin().Create(e.T.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}, Spec: coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: e.Clock.Now().Add(-ago)}}}))
		}
	}
	notReady := func(ago time.Duration) func(*hostedCluster) {
		return func(e *hostedCluster) {
			node := &corev1.Node{}
			e.inside("", "worker", node)
			node.Status.Conditions[0].Status, node.Status.Conditions[0].LastTransitionTime = corev1.ConditionUnknown, metav1.NewTime(e.Clock.Now().Add(-ago))
			e.hosted.UpdateStatus(node)
		}
	}
	for name, c := range map[string]struct {
		change func(*hostedCluster)
		want   string
	}{
		"a cluster without nodes": {func(e *hostedCluster) {
			e.hosted.Delete(readyNode(e.Clock.Now()))
		}, "ControllerNotRunning: " + lost},
		"a cluster whose nodes have not been ready for a while": {notReady(2 * time.Minute), "ControllerNotRunning: " + lost},
		"a cluster whose nodes were ready a moment ago":         {notReady(10 * time.Second), "CloudResourcesRemaining: load balancer"},
		"a driver that stopped renewing its Lease": {func(e *hostedCluster) {
			for _, lease := range []string{"ebs-csi-aws-com", "external-snapshotter-leader-ebs-csi-aws-com", "aws-load-balancer-controller-leader"} {
				renewed(lease, 2*time.Minute)(e)
			}
		}, "ControllerNotRunning: " + lost},
		"a driver that renews its Lease": {renewed("ebs-csi-aws-com", time.Second), "CloudResourcesRemaining: load balancer"},
	} {
		t.Run(name, func(t *testing.T) {
			e := inTheCloud(t)
			service := &corev1.Service{}
			e.inside("default", "web", service)
			service.Finalizers = nil
			e.Must(e.hosted.Admin().Update(t.Context(), service)) // the control plane deletes its load balancers at once
			c.change(e)
			e.deleted(true)
			for range 3 {
				e.Once()
			}
			if got := e.ConditionText(destroyed); !strings.HasPrefix(got, "False "+c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
			for _, r := range e.hcp().Status.RemainingCloudResources {
				if (r.Reason == hyperv1.ControllerNotRunningReason) != strings.HasPrefix(c.want, "Controller") {
					t.Errorf("status lists %+v", r)
				}
			}
		})
	}
}

// The EBS CSI driver runs next to the control plane, and deletes volumes without a node.
func TestCleanupAwaitsAControllerOutsideOfTheNodes(t *testing.T) {
	e := inTheCloud(t)
	service := &corev1.Service{}
	e.inside("default", "web", service)
	service.Finalizers = nil
	e.hosted.Update(service)
	e.hosted.Delete(readyNode(e.Clock.Now()))
	e.Must(e.hosted.Admin().Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "ebs-csi-aws-com"}, Spec: coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: e.Clock.Now()}},
	}))
	e.deleted(true)
	for range 3 {
		e.Once()
	}
	if got := e.ConditionText(destroyed); !strings.HasPrefix(got, "False CloudResourcesRemaining: ") {
		t.Errorf("got %s", got)
	}
	for _, r := range e.hcp().Status.RemainingCloudResources {
		if lost := r.Type != "volume"; (r.Reason == hyperv1.ControllerNotRunningReason) != lost {
			t.Errorf("status lists %+v", r)
		}
	}
}

func TestCleanupNeedsTheAnnotation(t *testing.T) {
	e := inTheCloud(t)
	writes := e.Calls.Writes()
	e.deleted(false)
	e.Once()
	if log := e.Calls.Log(writes); len(log) > 0 {
		t.Errorf("wrote %v", log)
	}
}

func TestCleanupWithoutAnAPIServerIsUnknown(t *testing.T) {
	e := inTheCloud(t)
	e.setAPIAvailable(metav1.ConditionFalse)
	e.deleted(true)
	e.Once()
	e.ExpectConditionText(destroyed, "nothing")
}

func TestDeletePermissionsAreGrantedForTheCleanup(t *testing.T) {
	e := inTheCloud(t)
	before := strings.Join(e.written, "\n")
	e.deleted(true)
	e.Once()
	after := strings.TrimPrefix(strings.Join(e.written, "\n"), before)
	if !strings.Contains(after, "hypershift:permissions apply ClusterRoleBinding") {
		t.Errorf("wrote %s", after)
	}
}

func TestCleanupCrashConsistency(t *testing.T) {
	t.Parallel()
	crashtest.CrashConsistency(t, func(t testing.TB) *crashtest.Scenario {
		e := inTheCloud(t)
		e.deleted(true)
		e.Calls = &crashtest.CallCounter{} // the calls before do not count
		e.hosted.Calls = e.Calls
		s := e.scenario()
		s.OtherControllers = e.cloud
		s.Ready = func(context.Context) string {
			if got := e.ConditionText(destroyed); got != "True AsExpected: All is well" {
				return got
			}
			return ""
		}
		return s
	})
}

// withNodesOnDemand adds a NodePool of Karpenter, a node and the EC2NodeClass to the cluster.
func withNodesOnDemand(t testing.TB) *hostedCluster {
	e := inTheCloud(t)
	e.onDemand()
	for _, kind := range []schema.GroupVersionKind{autonode.NodePool, autonode.NodeClaim, autonode.EC2NodeClass} {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(kind)
		obj.SetName("default")
		obj.SetFinalizers([]string{"karpenter.sh/termination"})
		e.Must(e.hosted.Admin().Create(t.Context(), obj))
	}
	return e
}

// karpenter simulates Karpenter: it terminates the instances of NodeClaims, and deletes an EC2NodeClass after the last one.
func (e *hostedCluster) karpenter(ctx context.Context) error {
	if err := e.cloud(ctx); err != nil {
		return err
	}
	for _, kind := range []schema.GroupVersionKind{autonode.NodePool, autonode.NodeClaim, autonode.EC2NodeClass} {
		claims := autonode.ListOf(autonode.NodeClaim)
		if err := e.hosted.Admin().List(ctx, claims); err != nil {
			return err
		}
		list := autonode.ListOf(kind)
		if err := e.hosted.Admin().List(ctx, list); err != nil {
			return err
		}
		for i := range list.Items {
			obj := &list.Items[i]
			if obj.GetDeletionTimestamp() == nil || kind == autonode.EC2NodeClass && len(claims.Items) > 0 {
				continue
			}
			obj.SetFinalizers(nil)
			if err := e.hosted.Admin().Update(ctx, obj); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
	}
	return nil
}

func TestNodesOnDemandAreDeletedAfterTheVolumes(t *testing.T) {
	e := withNodesOnDemand(t)
	e.deleted(true)
	claim := func() (there, deleted bool) {
		t.Helper()
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(autonode.NodeClaim)
		err := e.hosted.Admin().Get(t.Context(), client.ObjectKey{Name: "default"}, obj)
		e.Must(client.IgnoreNotFound(err))
		return err == nil, err == nil && obj.GetDeletionTimestamp() != nil
	}
	e.Once()
	e.Once()
	if _, deleted := claim(); deleted {
		t.Error("a node was deleted while a volume needs its controllers")
	}
	for range 10 {
		e.Must(e.cloud(t.Context()))
		e.Clock.Step(cloudcleanup.Interval)
		e.Once()
	}
	if there, deleted := claim(); !there || !deleted {
		t.Errorf("the volumes are gone; the node exists: %v, is being deleted: %v", there, deleted)
	}
	if text := e.ConditionText(destroyed); !strings.Contains(text, "NodeClaim "+"default") {
		t.Errorf("the condition is %q", text)
	}
}

func TestCleanupOfNodesOnDemandCrashConsistency(t *testing.T) {
	t.Parallel()
	crashtest.CrashConsistency(t, func(t testing.TB) *crashtest.Scenario {
		e := withNodesOnDemand(t)
		e.deleted(false) // the user keeps load balancers and volumes
		e.Calls = &crashtest.CallCounter{}
		e.hosted.Calls = e.Calls
		s := e.scenario()
		s.OtherControllers = e.karpenter
		s.Ready = func(context.Context) string {
			if got := e.ConditionText(destroyed); got != "True AsExpected: All is well" {
				return got
			}
			return ""
		}
		return s
	})
}
