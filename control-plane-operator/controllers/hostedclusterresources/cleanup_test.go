package hostedclusterresources

import (
	"context"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

const destroyed = hyperv1.CloudResourcesDestroyed

// inTheCloud is a cluster with a load balancer, a volume that is deleted with its claim, a retained volume, and a pod
// that uses the first volume.
func inTheCloud(t testing.TB) *testEnv {
	w := newTestEnv(t)
	w.reconcileAll()
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
	for _, obj := range []client.Object{
		balanced,
		&corev1.Service{ObjectMeta: meta("default", "inner"), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP}},
		volume("data", corev1.PersistentVolumeReclaimDelete), claim("data"),
		volume("keep", corev1.PersistentVolumeReclaimRetain), claim("keep"),
		&corev1.Pod{ObjectMeta: meta("default", "db"), Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}}}}},
		&corev1.Pod{ObjectMeta: meta("default", "stateless")},
	} {
		w.must(w.hosted.Admin().Create(t.Context(), obj))
	}
	return w
}

// deleted sets the annotation that the hypershift-operator sets when the nodes are gone.
func (w *testEnv) deleted(cleanup bool) {
	w.update(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Annotations = map[string]string{hyperv1.HostedClusterDeletedAnnotation: "true"}
		if cleanup {
			hcp.Annotations[hyperv1.CleanupCloudResourcesAnnotation] = "true"
		}
	})
}

// cloud simulates the cloud controllers of the hosted cluster: it deletes resources and removes finalizers.
func (w *testEnv) cloud(ctx context.Context) error {
	free := func(obj client.Object) error {
		obj.SetFinalizers(nil)
		return client.IgnoreNotFound(w.hosted.Admin().Update(ctx, obj))
	}
	services, pods, claims := &corev1.ServiceList{}, &corev1.PodList{}, &corev1.PersistentVolumeClaimList{}
	for _, list := range []client.ObjectList{services, pods, claims} {
		if err := w.hosted.Admin().List(ctx, list); err != nil {
			return err
		}
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
		if claim.DeletionTimestamp.IsZero() || w.holds(pods.Items, claim.Name) {
			continue
		}
		if err := free(claim); err != nil {
			return err
		}
		pv := &corev1.PersistentVolume{}
		if err := w.hosted.Admin().Get(ctx, client.ObjectKey{Name: claim.Spec.VolumeName}, pv); err != nil {
			return client.IgnoreNotFound(err)
		}
		if err := w.hosted.Admin().Delete(ctx, pv); err != nil {
			return err
		}
		pv.ResourceVersion = ""
		if err := w.hosted.Admin().Get(ctx, client.ObjectKeyFromObject(pv), pv); err != nil {
			return client.IgnoreNotFound(err)
		}
		if err := free(pv); err != nil {
			return err
		}
	}
	return nil
}

func (w *testEnv) holds(pods []corev1.Pod, claim string) bool {
	for _, p := range pods {
		if len(p.Spec.Volumes) > 0 && p.Spec.Volumes[0].PersistentVolumeClaim.ClaimName == claim {
			return true
		}
	}
	return false
}

// Cloud resources are deleted before the API server. Retained volumes stay.
func TestCleanupDeletesCloudResources(t *testing.T) {
	w := inTheCloud(t)
	w.deleted(true)
	for w.conditionText(destroyed) == "nothing" {
		w.reconcileOnce()
	}
	w.expectCondition(destroyed, "False CloudResourcesRemaining: load balancer a1.elb.amazonaws.com of Service default/web, volume vol-data of PersistentVolume data")
	if !w.inside("", "hypershift-no-new-cloud-resources", &admissionregistrationv1.ValidatingAdmissionPolicy{}) {
		t.Error("nobody keeps users from making more")
	}
	for range 4 {
		w.must(w.cloud(t.Context()))
		w.reconcileOnce()
	}
	w.expectCondition(destroyed, "True AsExpected: All is well")
	for _, c := range []struct {
		namespace, name string
		obj             client.Object
	}{{"default", "inner", &corev1.Service{}}, {"", "keep", &corev1.PersistentVolume{}}, {"default", "keep", &corev1.PersistentVolumeClaim{}}, {"default", "stateless", &corev1.Pod{}}} {
		if !w.inside(c.namespace, c.name, c.obj) {
			t.Errorf("%T %s is gone", c.obj, c.name)
		}
	}
}

func TestCleanupNeedsTheAnnotation(t *testing.T) {
	w := inTheCloud(t)
	writes := w.Calls.Writes()
	w.deleted(false)
	w.reconcileOnce()
	if log := w.Calls.Log(writes); len(log) > 0 {
		t.Errorf("wrote %v", log)
	}
}

func TestCleanupWithoutAnAPIServerIsUnknown(t *testing.T) {
	w := inTheCloud(t)
	w.setAPIAvailable(metav1.ConditionFalse)
	w.deleted(true)
	w.reconcileOnce()
	w.expectCondition(destroyed, "nothing")
}

func TestDeletePermissionsAreGrantedForTheCleanup(t *testing.T) {
	w := inTheCloud(t)
	before := strings.Join(w.written, "\n")
	w.deleted(true)
	w.reconcileOnce()
	after := strings.TrimPrefix(strings.Join(w.written, "\n"), before)
	if !strings.Contains(after, masterUser+" apply ClusterRoleBinding") {
		t.Errorf("wrote %s", after)
	}
}

func TestCleanupCrashConsistency(t *testing.T) {
	t.Parallel()
	crashtest.CrashConsistency(t, func(t testing.TB) *crashtest.Scenario {
		w := inTheCloud(t)
		w.deleted(true)
		w.Calls = &crashtest.CallCounter{} // the calls before do not count
		w.hosted.Calls = w.Calls
		s := w.scenario()
		s.OtherControllers = w.cloud
		s.Ready = func(context.Context) string {
			if got := w.conditionText(destroyed); got != "True AsExpected: All is well" {
				return got
			}
			return ""
		}
		return s
	})
}
