package hostedclusterresources

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// metricsAPI reads the APIService of metrics-server, and returns nil if it does not exist.
func metricsAPI(t *testing.T, c client.Client) *unstructured.Unstructured {
	t.Helper()
	service := &unstructured.Unstructured{}
	service.SetGroupVersionKind(apiServiceKind)
	if err := c.Get(t.Context(), client.ObjectKey{Name: "v1beta1.metrics.k8s.io"}, service); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	} else if err != nil {
		return nil
	}
	return service
}

// signMetricsServer creates the certificate as the components controller does for a cluster with nodes.
func (e *hostedCluster) signMetricsServer() {
	e.T.Helper()
	leaf, err := e.signer.Current.Issue(pki.Request{User: names.MetricsServer, Usage: pki.Server, Hosts: []string{"metrics-server.kube-system.svc"}}, pki.DefaultTerms, e.Clock.Now())
	e.Must(err)
	e.Create(secret(names.MetricsServerCertificate, corev1.SecretTypeTLS, leaf.Data(e.signer.Trust())), kubeletServingCA(string(e.signer.Trust())))
}

// An API that is registered and does not respond makes discovery incomplete, and namespaces are not deleted.
func TestMetricsAPIIsRegisteredWhileThereAreNodes(t *testing.T) {
	t.Parallel()
	a := startAPIServer(t)
	a.reconcileAll()
	master := a.client(a.as("test", "system:masters"))
	deployment := client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: names.MetricsServer}
	if err := master.Get(t.Context(), deployment, &appsv1.Deployment{}); err == nil || metricsAPI(t, master) != nil {
		t.Fatalf("a cluster without nodes has metrics-server: %v", err)
	}

	again := func() { // with a node that does not respond, the connection is checked every few seconds
		a.Clock.Step(2 * interval)
		a.Once()
	}
	a.signMetricsServer()
	a.follow("worker")
	again()
	again()
	a.ExpectConditionText(resourcesCondition, succeeded)
	a.Must(master.Get(t.Context(), deployment, &appsv1.Deployment{}))
	service := metricsAPI(t, master)
	if service == nil {
		t.Fatal("the API is not registered")
	}
	trusted, _, err := unstructured.NestedString(service.Object, "spec", "caBundle")
	a.Must(err)
	if trusted != base64.StdEncoding.EncodeToString(a.signer.Trust()) {
		t.Errorf("the API server trusts %q", trusted)
	}
	view := &rbacv1.ClusterRole{}
	a.Must(master.Get(t.Context(), client.ObjectKey{Name: "hypershift:metrics-readers"}, view))
	if view.Labels["rbac.authorization.k8s.io/aggregate-to-view"] != yes {
		t.Errorf("labels of the role are %v", view.Labels)
	}

	a.Must(master.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker"}}))
	again()
	again()
	if metricsAPI(t, master) != nil {
		t.Error("the API is registered without a node that could serve it")
	}
	a.Must(master.Get(t.Context(), deployment, &appsv1.Deployment{}))
}

// The webhook is registered while there is a certificate for it. Without a response from it, pods are created nevertheless.
func TestPodIdentityWebhookIsRegistered(t *testing.T) {
	t.Parallel()
	a := startAPIServer(t)
	a.reconcileAll()
	master := a.client(a.as("test", "system:masters"))
	hook := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: names.PodIdentityWebhook}}
	if err := master.Get(t.Context(), client.ObjectKeyFromObject(hook), hook); !apierrors.IsNotFound(err) {
		t.Fatalf("without a certificate: %v", err)
	}
	certificate := secret(names.PodIdentityWebhookCertificate, corev1.SecretTypeTLS, map[string][]byte{
		corev1.TLSCertKey: []byte("certificate"), corev1.TLSPrivateKeyKey: []byte("key"), pki.TrustKey: a.signer.Trust(),
	})
	a.Create(certificate)
	a.Once()
	a.ExpectConditionText(resourcesCondition, succeeded)
	a.Must(master.Get(t.Context(), client.ObjectKeyFromObject(hook), hook))
	if w := hook.Webhooks[0]; !bytes.Equal(w.ClientConfig.CABundle, a.signer.Trust()) || strings.Contains(*w.ClientConfig.URL, namespace) {
		t.Errorf("registered as %+v", w.ClientConfig)
	}
	version := hook.Generation
	a.reconcileLater()
	a.Must(master.Get(t.Context(), client.ObjectKeyFromObject(hook), hook))
	if hook.Generation != version {
		t.Errorf("written at rest: generation %d after %d", hook.Generation, version)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry/image"}}},
	}
	a.Must(master.Create(t.Context(), pod))

	// The user of the webhook reads only ServiceAccounts.
	webhook := a.client(a.as(names.PodIdentityWebhookUser))
	if !a.may(webhook, "watch", "", "serviceaccounts", "") || a.may(webhook, "create", "", "serviceaccounts/token", "default") || a.may(webhook, "get", "", "secrets", "default") {
		t.Error("the permissions of the webhook are wrong")
	}

	a.Must(a.Admin().Delete(t.Context(), certificate))
	a.reconcileLater()
	if err := master.Get(t.Context(), client.ObjectKeyFromObject(hook), hook); !apierrors.IsNotFound(err) {
		t.Errorf("without a certificate: %v", err)
	}
}

// With the validation and the defaults of a real API server.
func TestStorageIsSetUp(t *testing.T) {
	t.Parallel()
	a := startAPIServer(t)
	a.releases.Put(&release.Release{Image: oldImage, Version: "1.35.4", Components: map[string]string{
		names.EBSCSIDriverImage: "registry/ebs:1", names.CSINodeRegistrarImage: "registry/registrar:1", names.CSILivenessProbeImage: "registry/liveness:1",
	}})
	a.reconcileAll()
	master := a.client(a.as("test", "system:masters"))
	driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "ebs.csi.aws.com"}}
	if err := master.Get(t.Context(), client.ObjectKeyFromObject(driver), driver); !apierrors.IsNotFound(err) {
		t.Fatalf("without a role: %v", err)
	}
	a.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Platform.AWS.RolesRef.StorageARN = "arn:aws:iam::123456789012:role/storage"
	})
	a.reconcileLater()
	a.ExpectConditionText(resourcesCondition, succeeded)
	a.Must(master.Get(t.Context(), client.ObjectKeyFromObject(driver), driver))
	before := a.versions(master)
	a.reconcileLater()
	for what, version := range a.versions(master) {
		if before[what] != version {
			t.Errorf("%s was written at rest: %q, %q", what, before[what], version)
		}
	}
	a.Must(master.Get(t.Context(), client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "ebs-csi-node"}, &appsv1.DaemonSet{}))

	// A claim of a user gets the default class.
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	a.Must(master.Create(t.Context(), claim))
	if claim.Spec.StorageClassName == nil || *claim.Spec.StorageClassName != "gp3" {
		t.Errorf("the class of the claim is %v", claim.Spec.StorageClassName)
	}

	controller := a.client(a.as(names.EBSCSIControllerUser))
	for _, c := range []struct {
		verb, group, kind, where string
		want                     bool
	}{
		{"create", "", "persistentvolumes", "", true},
		{"patch", "storage.k8s.io", "volumeattachments/status", "", true},
		{"create", "coordination.k8s.io", "leases", metav1.NamespaceSystem, true},
		{"get", "", "secrets", "kube-system", false},
		{"patch", "", "nodes", "", false},
		{"create", "", "pods", "default", false},
	} {
		if got := a.may(controller, c.verb, c.group, c.kind, c.where); got != c.want {
			t.Errorf("the controller may %s %s: %v", c.verb, c.kind, got)
		}
	}
}
