package hostedclusterresources

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/autonode"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/test/fakerelease"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const (
	namespace = testenv.Namespace
	interval  = 10 * time.Minute
	oldImage  = "registry/release:1.35.4"
	newImage  = "registry/release:1.36.3"
)

// scheme has only the kinds of these tests: the fake API server iterates over all of them for every write.
var scheme = func() *runtime.Scheme {
	s := testenv.Scheme(
		routev1.Install, clusterv1.AddToScheme, rbacv1.AddToScheme, appsv1.AddToScheme,
		discoveryv1.AddToScheme, policyv1.AddToScheme, certificatesv1.AddToScheme, admissionregistrationv1.AddToScheme, authorizationv1.AddToScheme,
		networkingv1.AddToScheme, coordinationv1.AddToScheme, storagev1.AddToScheme, batchv1.AddToScheme,
	)
	for _, kind := range []string{"VolumeSnapshot", "VolumeSnapshotContent"} {
		s.AddKnownTypeWithName(snapshotKind(kind), &unstructured.Unstructured{})
		s.AddKnownTypeWithName(snapshotKind(kind+"List"), &unstructured.UnstructuredList{})
	}
	s.AddKnownTypeWithName(apiServiceKind, &unstructured.Unstructured{})
	s.AddKnownTypeWithName(apiServiceKind.GroupVersion().WithKind("APIServiceList"), &unstructured.UnstructuredList{})
	for _, kind := range []schema.GroupVersionKind{autonode.NodePool, autonode.NodeClaim, autonode.EC2NodeClass} {
		s.AddKnownTypeWithName(kind, &unstructured.Unstructured{})
		s.AddKnownTypeWithName(autonode.ListOf(kind).GroupVersionKind(), &unstructured.UnstructuredList{})
	}
	return s
}()

var apiServiceKind = schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}

// hostedCluster is a control plane in one cluster, and the cluster that it hosts.
type hostedCluster struct {
	*testenv.Env
	hosted   *testenv.Env
	releases *fakerelease.Registry
	signer   *pki.Signer
	// refused has why certificate requests of machines are not approved.
	refused map[string]string
	// written lists the writes in the hosted cluster by user.
	written []string
	// endpoint is the address of the API server.
	endpoint hyperv1.APIEndpoint
	// unreachable is true when the hosted API server does not respond.
	unreachable bool

	reconciler *Reconciler
}

func newHostedCluster(t testing.TB) *hostedCluster {
	e := &hostedCluster{endpoint: hyperv1.APIEndpoint{Host: "api.demo.example.com", Port: 6443}, Env: testenv.New(t,
		testenv.WithScheme(scheme), testenv.WithSchemas("config/crd"),
		testenv.WithStart(time.Now().Truncate(time.Second)), // certificates are verified with the real time
		testenv.For(controlPlane(), &hyperv1.HostedControlPlaneList{}),
		testenv.WithObjects(route("konnectivity.demo.example.com"), secret(names.PullSecret, corev1.SecretTypeDockerConfigJson, map[string][]byte{corev1.DockerConfigJsonKey: []byte("{}")})),
	)}
	e.hosted = testenv.New(t, testenv.WithScheme(scheme), testenv.WithAWSOf(e.Env, 0),
		testenv.WithKinds(
			&rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{},
			&corev1.ConfigMapList{}, &corev1.SecretList{}, &corev1.ServiceList{}, &corev1.ServiceAccountList{},
			&corev1.EndpointsList{}, &discoveryv1.EndpointSliceList{},
			&appsv1.DeploymentList{}, &appsv1.DaemonSetList{}, &policyv1.PodDisruptionBudgetList{},
			&admissionregistrationv1.ValidatingAdmissionPolicyList{}, &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{},
			&admissionregistrationv1.MutatingWebhookConfigurationList{}, &storagev1.CSIDriverList{}, &storagev1.StorageClassList{},
			&corev1.PersistentVolumeList{}, &corev1.PersistentVolumeClaimList{}, &corev1.PodList{}, &networkingv1.IngressList{}, &networkingv1.IngressClassList{},
		),
		testenv.WithStatus(&certificatesv1.CertificateSigningRequest{}),
		testenv.WithIndex(&certificatesv1.CertificateSigningRequest{}, "spec.signerName", func(obj client.Object) []string {
			return []string{obj.(*certificatesv1.CertificateSigningRequest).Spec.SignerName}
		}),
		testenv.WithIndex(&coordinationv1.Lease{}, "metadata.name", func(obj client.Object) []string { return []string{obj.GetName()} }),
	)
	e.hosted.Calls = e.Calls
	components := map[string]string{"coredns": "registry/coredns:1", "kube-proxy": "registry/kube-proxy:1.35.4", names.KonnectivityAgentImage: "registry/agent:1", names.MetricsServer: "registry/metrics-server:1", names.Traefik: "registry/traefik:1"}
	newer := map[string]string{"coredns": "registry/coredns:1", "kube-proxy": "registry/kube-proxy:1.36.3", names.KonnectivityAgentImage: "registry/agent:1", names.MetricsServer: "registry/metrics-server:1", names.Traefik: "registry/traefik:1"}
	e.releases = fakerelease.New(&release.Release{Image: oldImage, Version: "1.35.4", Components: components}, &release.Release{Image: newImage, Version: "1.36.3", Components: newer})
	e.makeCertificates()
	e.setAPIAvailable(metav1.ConditionTrue)
	e.Start = e.start
	e.Restart()
	return e
}

func controlPlane() *hyperv1.HostedControlPlane {
	return testenv.HostedControlPlane(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.ReleaseImage, hcp.Spec.PullSecret.Name = oldImage, names.PullSecret
		hcp.Spec.InfrastructureAvailabilityPolicy = hyperv1.HighlyAvailable
		hcp.Spec.Platform.AWS.EndpointAccess = hyperv1.Public
		hcp.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{testenv.Published(hyperv1.Konnectivity, "konnectivity.demo.example.com")}
	})
}

func route(host string) *routev1.Route {
	return &routev1.Route{
		ObjectMeta: testenv.In(namespace, names.KonnectivityServer),
		Spec:       routev1.RouteSpec{Host: host, To: routev1.RouteTargetReference{Kind: "Service", Name: names.KonnectivityServer}},
	}
}

func secret(name string, kind corev1.SecretType, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: testenv.In(namespace, name), Type: kind, Data: data}
}

// kubeletServingCA returns the ConfigMap with the authorities of kubelet serving certificates.
func kubeletServingCA(authorities string) *corev1.ConfigMap {
	return testenv.ConfigMap(names.KubeletServingCA, pki.TrustKey, authorities)
}

// token is a bootstrap token that is valid for half an hour.
func (e *hostedCluster) token(id string) *corev1.Secret {
	s := secret("token-"+id, corev1.SecretTypeBootstrapToken, map[string][]byte{
		bootstrapapi.BootstrapTokenIDKey: []byte(id), bootstrapapi.BootstrapTokenSecretKey: []byte("0123456789abcdef"), bootstrapapi.BootstrapTokenUsageAuthentication: []byte(yes),
		bootstrapapi.BootstrapTokenExpirationKey: []byte(e.Clock.Now().Add(30 * time.Minute).UTC().Format(time.RFC3339)),
	})
	s.Labels = map[string]string{hyperv1.BootstrapTokenLabel: "workers-abcde"}
	return s
}

// makeCertificates creates the certificates of the components controller.
func (e *hostedCluster) makeCertificates() {
	var err error
	e.signer, err = pki.NewSigner(names.ClientSigner, "", e.Clock.Now())
	e.Must(err)
	data, err := e.signer.Data()
	e.Must(err)
	leaf := e.leaf()
	e.Create(
		secret(names.ClientSigner, corev1.SecretTypeOpaque, data),
		e.kubeconfig(leaf, e.signer.Trust()),
		secret(names.KonnectivityAgentCertificate, corev1.SecretTypeTLS, leaf.Data(e.signer.Trust())),
		testenv.ConfigMap(names.KubeletClientCA, pki.TrustKey, string(e.signer.Trust())),
	)
}

// leaf is the client certificate of the operator.
func (e *hostedCluster) leaf() *pki.Leaf {
	e.T.Helper()
	leaf, err := e.signer.Current.Issue(pki.Request{User: names.ControlPlaneOperatorUser, Groups: []string{names.ControlPlaneOperatorGroup}, Usage: pki.Client}, pki.DefaultTerms, e.Clock.Now())
	e.Must(err)
	return leaf
}

// kubeconfig is a kubeconfig with the certificate and the trusted authorities.
func (e *hostedCluster) kubeconfig(leaf *pki.Leaf, trust []byte) *corev1.Secret {
	e.T.Helper()
	text, err := pki.Kubeconfig("https://kube-apiserver."+namespace+".svc:6443", trust, leaf)
	e.Must(err)
	return secret(names.ControlPlaneOperatorKubeconfig, corev1.SecretTypeOpaque, map[string][]byte{names.AdminKubeconfigFile: text})
}

// open connects to the hosted cluster.
func (e *hostedCluster) open(config *rest.Config) (client.WithWatch, error) {
	block, _ := pem.Decode(config.CertData)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, err
	}
	d := &authorizer{hostedCluster: e, user: cert.Subject.CommonName, master: slices.Contains(cert.Subject.Organization, "system:masters"), until: cert.NotAfter}
	return e.hosted.ClientWith(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if err := d.authorize(ctx, "get", obj); err != nil {
				return err
			}
			return c.Get(ctx, key, obj, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if err := d.authorize(ctx, "list", list); err != nil {
				return err
			}
			return c.List(ctx, list, opts...)
		},
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if err := d.authorize(ctx, "apply", obj); err != nil {
				return err
			}
			return c.Apply(ctx, obj, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			if err := d.authorize(ctx, "delete", obj); err != nil {
				return err
			}
			return c.Delete(ctx, obj, opts...)
		},
	}), nil
}

// authorizer simulates a small part of RBAC: without its binding the operator has no permissions, and it can only read
// permissions.
type authorizer struct {
	*hostedCluster
	user   string
	master bool
	until  time.Time
}

func (d *authorizer) authorize(ctx context.Context, verb string, obj any) error {
	if d.unreachable {
		return fmt.Errorf("dial tcp: connection refused")
	}
	what := fmt.Sprintf("%T", obj)
	if text, err := json.Marshal(obj); err == nil && verb == "apply" {
		applied := &metav1.PartialObjectMetadata{}
		d.Must(json.Unmarshal(text, applied))
		what = applied.Kind
	}
	reads := verb == "get" || verb == "list"
	if !reads {
		d.written = append(d.written, d.user+" "+verb+" "+what)
	}
	err := d.hosted.Admin().Get(ctx, client.ObjectKey{Name: names.ControlPlaneOperatorGroup}, &rbacv1.ClusterRoleBinding{})
	rbac := strings.Contains(what, "Role")
	switch {
	case d.master && !d.Clock.Now().After(d.until):
		return nil
	case err != nil, rbac && !reads:
		return apierrors.NewForbidden(schema.GroupResource{Resource: what}, "", fmt.Errorf("%s cannot %s", d.user, verb))
	}
	return nil
}

func (e *hostedCluster) start() testenv.Pass {
	e.reconciler = newReconciler(Options{
		Client: e.Client(), Status: controlplanestatus.New(e.Client(), e.Client()), Reader: e.Client(), Scheme: scheme, Recorder: e.Events, Clock: e.Clock,
		Releases: e.releases, Interval: interval, Open: e.open, Refused: func(reasons map[string]string) { e.refused = reasons },
	})
	return e.passOf(e.reconciler)
}

func (e *hostedCluster) passOf(r *Reconciler) testenv.Pass {
	controller := r.controller()
	return testenv.PassOver(e.Env, &hyperv1.HostedControlPlaneList{}, func(ctx context.Context, hcp *hyperv1.HostedControlPlane) (ctrl.Result, error) {
		hcp.Status.ControlPlaneEndpoint = e.endpoint
		return controller.ReconcileObject(ctx, hcp)
	})
}

// reconcileAll reconciles until the requeue time is long.
func (e *hostedCluster) reconcileAll() {
	e.T.Helper()
	for range 10 {
		e.Once()
		if e.RequeueAfter >= interval {
			return
		}
		e.Clock.Step(e.RequeueAfter)
	}
	e.T.Fatalf("is requeued after %s all the time: %s", e.RequeueAfter, e.ConditionText(hyperv1.ConfigOperatorReconciliationSucceeded))
}

// reconcileLater advances the time by the interval, and then reconciles.
func (e *hostedCluster) reconcileLater() {
	e.T.Helper()
	e.Clock.Step(2 * interval)
	e.reconcileAll()
}

// hcp returns the control plane with its endpoint. The fake API server decodes applied objects completely: fields without omitempty are
// empty afterwards, although another writer owns them.
func (e *hostedCluster) hcp() *hyperv1.HostedControlPlane {
	e.T.Helper()
	hcp := e.HCP()
	hcp.Status.ControlPlaneEndpoint = e.endpoint
	return hcp
}

// setAPIAvailable sets a condition of the hostedapi controller.
func (e *hostedCluster) setAPIAvailable(api metav1.ConditionStatus) {
	e.T.Helper()
	e.status(func(s *hyperv1.HostedControlPlaneStatus) {
		reconcile.SetCondition(&s.Conditions, metav1.Condition{Type: hyperv1.KubeAPIServerAvailable, Status: api}, e.Clock.Now())
	})
}

func (e *hostedCluster) status(how func(*hyperv1.HostedControlPlaneStatus)) {
	e.T.Helper()
	hcp := e.hcp()
	writer := reconcile.NewWriter(e.Admin(), e.Admin(), hcp, "others", func(hcp *hyperv1.HostedControlPlane) any {
		status := hcp.DeepCopy().Status
		status.NodeCount, status.RemainingCloudResources, status.NodeAccess, status.AutoNode = nil, nil, nil, nil
		for _, condition := range ownedConditions {
			meta.RemoveStatusCondition(&status.Conditions, condition)
		}
		return status
	})
	how(&hcp.Status)
	e.Must(writer.Write(e.T.Context()))
}

// inside reads an object of the hosted cluster and returns whether it exists.
func (e *hostedCluster) inside(namespace, name string, obj client.Object) bool {
	e.T.Helper()
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return e.hosted.Exists(obj)
}
