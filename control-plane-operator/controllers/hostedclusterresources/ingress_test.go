package hostedclusterresources

import (
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

var ingressCapability = &hyperv1.Capabilities{Enabled: []hyperv1.OptionalCapability{hyperv1.IngressCapability}}

// signIngress creates the certificate as the components controller does for a cluster with nodes.
func (e *hostedCluster) signIngress() {
	e.T.Helper()
	leaf, err := e.signer.Current.Issue(pki.Request{User: "ingress", Usage: pki.Server, Hosts: []string{"*.apps.demo.example.com"}}, pki.DefaultTerms, e.Clock.Now())
	e.Must(err)
	e.Create(secret(names.IngressCertificate, corev1.SecretTypeTLS, leaf.Data(e.signer.Trust())))
}

func inKubeSystem(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name}
}

// The capability installs the ingress controller, with the Gateway API, and observes it. Without the capability, it is removed, and the kinds
// stay for the objects of users.
func TestIngressFollowsTheCapability(t *testing.T) {
	t.Parallel()
	a := startAPIServer(t)
	a.reconcileAll()
	a.signIngress()
	a.follow("worker")
	again := func() {
		t.Helper()
		a.Clock.Step(componentInterval)
		a.Once()
	}
	a.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Capabilities = ingressCapability })
	again()
	again()
	again()
	a.ExpectConditionText(resourcesCondition, succeeded)
	a.ExpectCondition(hyperv1.IngressAvailable, metav1.ConditionFalse, hyperv1.IngressNotRunningReason, "kube-system/traefik")
	master := a.client(a.as("test", "system:masters"))
	pods, svc := &appsv1.Deployment{ObjectMeta: inKubeSystem(names.Traefik)}, &corev1.Service{ObjectMeta: inKubeSystem(names.Traefik)}
	class := &unstructured.Unstructured{}
	class.SetGroupVersionKind(schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "GatewayClass"})
	class.SetName(names.Traefik)
	for _, obj := range []client.Object{pods, svc, class, &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: names.Traefik}}, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "hypershift:traefik"}}} {
		a.Must(master.Get(t.Context(), client.ObjectKeyFromObject(obj), obj))
	}

	pods.Status = appsv1.DeploymentStatus{Replicas: 1, ReadyReplicas: 1}
	a.Must(master.Status().Update(t.Context(), pods))
	again()
	a.ExpectCondition(hyperv1.IngressAvailable, metav1.ConditionFalse, hyperv1.WaitingForLoadBalancerReason, "kube-system/traefik")
	svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "ingress.elb.us-east-1.amazonaws.com"}}
	a.Must(master.Status().Update(t.Context(), svc))
	again()
	a.ExpectCondition(hyperv1.IngressAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "ingress.elb")
	if got := a.HCP().Status.Ingress; got == nil || got.LoadBalancer != "ingress.elb.us-east-1.amazonaws.com" {
		t.Errorf("status.ingress is %+v", got)
	}

	// A load balancer of another scheme has another Service, and the first one is removed.
	a.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.OperatorConfiguration = &hyperv1.OperatorConfiguration{IngressOperator: &hyperv1.IngressOperatorSpec{EndpointPublishingStrategy: &operatorv1.EndpointPublishingStrategy{
			Type: operatorv1.LoadBalancerServiceStrategyType, LoadBalancer: &operatorv1.LoadBalancerStrategy{Scope: operatorv1.InternalLoadBalancer},
		}}}
	})
	again()
	again()
	a.ExpectCondition(hyperv1.IngressAvailable, metav1.ConditionFalse, hyperv1.WaitingForLoadBalancerReason, "kube-system/traefik-internal")
	internal := &corev1.Service{ObjectMeta: inKubeSystem("traefik-internal")}
	a.Must(master.Get(t.Context(), client.ObjectKeyFromObject(internal), internal))
	if err := master.Get(t.Context(), client.ObjectKeyFromObject(svc), svc); !apierrors.IsNotFound(err) {
		t.Errorf("the Service with the public load balancer: %v", err)
	}

	// A Service that a user deletes is created again soon.
	a.Must(master.Delete(t.Context(), internal))
	a.Clock.Step(componentInterval)
	a.Once()
	a.Once()
	a.Must(master.Get(t.Context(), client.ObjectKeyFromObject(internal), internal))

	a.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Capabilities = nil })
	again()
	again()
	again() // the status stays until the Service is gone
	a.ExpectConditionText(resourcesCondition, succeeded)
	if c := meta.FindStatusCondition(a.HCP().Status.Conditions, hyperv1.IngressAvailable); c != nil || a.HCP().Status.Ingress != nil {
		t.Errorf("condition %+v and status %+v remain", c, a.HCP().Status.Ingress)
	}
	for _, obj := range []client.Object{pods, internal, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "hypershift:traefik"}}} {
		if err := master.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); !apierrors.IsNotFound(err) {
			t.Errorf("%T %s remains: %v", obj, obj.GetName(), err)
		}
	}
	a.Must(master.Get(t.Context(), client.ObjectKeyFromObject(class), class))
}

// The Gateway API of a user stays as it is, and is no error.
func TestGatewayAPIOfUsersStays(t *testing.T) {
	t.Parallel()
	a := startAPIServer(t)
	a.reconcileAll()
	a.signIngress()
	a.follow("worker")
	master := a.client(a.as("test", "system:masters"))
	theirs := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"group": "gateway.networking.k8s.io", "scope": "Cluster",
			"names":    map[string]any{"kind": "GatewayClass", "plural": "gatewayclasses"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}},
		},
	}}
	theirs.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	theirs.SetName("gatewayclasses.gateway.networking.k8s.io")
	theirs.SetAnnotations(map[string]string{"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api/pull/1"})
	a.Must(master.Create(t.Context(), theirs))
	a.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Capabilities = ingressCapability })
	for range 3 {
		a.Clock.Step(componentInterval)
		a.Once()
	}
	a.ExpectConditionText(resourcesCondition, succeeded)
	generation := theirs.GetGeneration()
	a.Must(master.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs))
	if theirs.GetGeneration() != generation {
		t.Error("the kind of the user was changed")
	}
}

// The load balancer of the ingress controller is removed with the cluster even if the user keeps others.
func TestIngressIsRemovedWithTheCluster(t *testing.T) {
	e := inTheCloud(t)
	e.signIngress()
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Capabilities = ingressCapability })
	e.Once()
	e.Once()
	svc := &corev1.Service{ObjectMeta: inKubeSystem(names.Traefik)}
	e.Must(e.hosted.Admin().Get(t.Context(), client.ObjectKeyFromObject(svc), svc))
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Annotations = map[string]string{hyperv1.HostedClusterDeletedAnnotation: "true", hyperv1.CleanupCloudResourcesAnnotation: "false"}
		hcp.Status.NodeCount = ptr.To[int32](1)
	})
	e.reconcileAll()
	if err := e.hosted.Admin().Get(t.Context(), client.ObjectKeyFromObject(svc), svc); !apierrors.IsNotFound(err) {
		t.Errorf("the Service of the ingress controller: %v", err)
	}
	e.ExpectCondition(destroyed, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	theirs := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	if err := e.hosted.Admin().Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs); err != nil || !theirs.DeletionTimestamp.IsZero() {
		t.Errorf("the Service of the user: %v, %v", theirs.DeletionTimestamp, err)
	}
}
