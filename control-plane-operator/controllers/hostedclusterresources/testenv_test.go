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

	"github.com/go-logr/logr"
	routev1 "github.com/openshift/api/route/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
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
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/autonode"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/fakerelease"
)

const (
	namespace = "clusters-demo"
	interval  = 10 * time.Minute
	oldImage  = "registry/release:1.35.4"
	newImage  = "registry/release:1.36.3"
)

func init() { ctrl.SetLogger(logr.Discard()) }

// scheme has only the kinds of these tests: the fake API server iterates over all of them for every write.
var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		hyperv1.AddToScheme, routev1.Install, clusterv1.AddToScheme, corev1.AddToScheme, rbacv1.AddToScheme, appsv1.AddToScheme,
		discoveryv1.AddToScheme, policyv1.AddToScheme, certificatesv1.AddToScheme, admissionregistrationv1.AddToScheme, authorizationv1.AddToScheme,
		networkingv1.AddToScheme, coordinationv1.AddToScheme, storagev1.AddToScheme,
	} {
		utilruntime.Must(add(s))
	}
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

// testEnv is the environment of these tests: a control plane in one cluster, and the cluster that it hosts.
type hostedCluster struct {
	*crashtest.Cluster
	t        testing.TB
	hosted   *crashtest.Cluster
	clock    *clocktesting.FakeClock
	releases *fakerelease.Registry
	signer   *pki.Signer
	events   *events.FakeRecorder
	// refused has why certificate requests of machines are not approved.
	refused map[string]string
	// written lists the writes in the hosted cluster by user.
	written []string
	// endpoint is the address of the API server.
	endpoint hyperv1.APIEndpoint
	// unreachable is true when the hosted API server does not respond.
	unreachable bool

	reconciler *Reconciler
	controller *Controller
	next       time.Duration
}

func newHostedCluster(t testing.TB) *hostedCluster {
	e := &hostedCluster{t: t, endpoint: hyperv1.APIEndpoint{Host: "api.demo.example.com", Port: 6443}, events: events.NewFakeRecorder(100), clock: clocktesting.NewFakeClock(time.Now().Truncate(time.Second))} // certificates are verified with the real time
	e.Cluster = crashtest.NewCluster(crashtest.Options{
		Scheme:     scheme,
		Converters: []managedfields.TypeConverter{crashtest.Converter("../../../config/crd")},
		Kinds:      []client.ObjectList{&hyperv1.HostedControlPlaneList{}},
		WithStatus: []client.Object{&hyperv1.HostedControlPlane{}},
	})
	e.hosted = crashtest.NewCluster(crashtest.Options{
		Scheme: scheme,
		Kinds: []client.ObjectList{
			&rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{},
			&corev1.ConfigMapList{}, &corev1.SecretList{}, &corev1.ServiceList{}, &corev1.ServiceAccountList{},
			&corev1.EndpointsList{}, &discoveryv1.EndpointSliceList{},
			&appsv1.DeploymentList{}, &appsv1.DaemonSetList{}, &policyv1.PodDisruptionBudgetList{},
			&admissionregistrationv1.ValidatingAdmissionPolicyList{}, &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{},
			&admissionregistrationv1.MutatingWebhookConfigurationList{}, &storagev1.CSIDriverList{}, &storagev1.StorageClassList{},
			&corev1.PersistentVolumeList{}, &corev1.PersistentVolumeClaimList{}, &corev1.PodList{}, &networkingv1.IngressList{},
		},
		WithStatus: []client.Object{&certificatesv1.CertificateSigningRequest{}},
		Index: func(b *fake.ClientBuilder) {
			b.WithIndex(&certificatesv1.CertificateSigningRequest{}, "spec.signerName", func(obj client.Object) []string {
				return []string{obj.(*certificatesv1.CertificateSigningRequest).Spec.SignerName}
			})
			b.WithIndex(&coordinationv1.Lease{}, "metadata.name", func(obj client.Object) []string { return []string{obj.GetName()} })
		},
	})
	e.hosted.Calls = e.Calls
	components := map[string]string{"coredns": "registry/coredns:1", "kube-proxy": "registry/kube-proxy:1.35.4", names.KonnectivityAgentImage: "registry/agent:1", names.MetricsServer: "registry/metrics-server:1"}
	newer := map[string]string{"coredns": "registry/coredns:1", "kube-proxy": "registry/kube-proxy:1.36.3", names.KonnectivityAgentImage: "registry/agent:1", names.MetricsServer: "registry/metrics-server:1"}
	e.releases = fakerelease.New(&release.Release{Image: oldImage, Version: "1.35.4", Components: components}, &release.Release{Image: newImage, Version: "1.36.3", Components: newer})
	e.makeCertificates()
	e.Create(t, controlPlane(), route("konnectivity.demo.example.com"), secret(names.PullSecret, corev1.SecretTypeDockerConfigJson, map[string][]byte{corev1.DockerConfigJsonKey: []byte("{}")}))
	e.setAPIAvailable(metav1.ConditionTrue)
	e.start()
	return e
}

func controlPlane() *hyperv1.HostedControlPlane {
	return &hyperv1.HostedControlPlane{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo", Generation: 1},
		Spec: hyperv1.HostedControlPlaneSpec{
			ReleaseImage: oldImage, InfraID: "demo-x", PullSecret: corev1.LocalObjectReference{Name: names.PullSecret},
			InfrastructureAvailabilityPolicy: hyperv1.HighlyAvailable,
			Services: []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.Konnectivity, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{
				Type: hyperv1.Route, Route: &hyperv1.RoutePublishingStrategy{Hostname: "konnectivity.demo.example.com"},
			}}},
			Platform: hyperv1.PlatformSpec{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSPlatformSpec{EndpointAccess: hyperv1.Public}},
			Networking: hyperv1.ClusterNetworking{
				ServiceNetwork: []hyperv1.ServiceNetworkEntry{{CIDR: "172.31.0.0/16"}}, ClusterNetwork: []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14"}},
			},
		},
	}
}

func route(host string) *routev1.Route {
	return &routev1.Route{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.KonnectivityServer},
		Spec:       routev1.RouteSpec{Host: host, To: routev1.RouteTargetReference{Kind: "Service", Name: names.KonnectivityServer}},
	}
}

func secret(name string, kind corev1.SecretType, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: kind, Data: data}
}

// kubeletServingCA returns the ConfigMap with the authorities of kubelet serving certificates.
func kubeletServingCA(authorities string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.KubeletServingCA}, Data: map[string]string{pki.TrustKey: authorities}}
}

// token is a bootstrap token that is valid for half an hour.
func (e *hostedCluster) token(id string) *corev1.Secret {
	s := secret("token-"+id, corev1.SecretTypeBootstrapToken, map[string][]byte{
		bootstrapapi.BootstrapTokenIDKey: []byte(id), bootstrapapi.BootstrapTokenSecretKey: []byte("0123456789abcdef"), bootstrapapi.BootstrapTokenUsageAuthentication: []byte(yes),
		bootstrapapi.BootstrapTokenExpirationKey: []byte(e.clock.Now().Add(30 * time.Minute).UTC().Format(time.RFC3339)),
	})
	s.Labels = map[string]string{hyperv1.BootstrapTokenLabel: "workers-abcde"}
	return s
}

// makeCertificates creates the certificates of the components controller.
func (e *hostedCluster) makeCertificates() {
	var err error
	e.signer, err = pki.NewSigner(names.ClientSigner, "", e.clock.Now())
	e.must(err)
	data, err := e.signer.Data()
	e.must(err)
	leaf := e.leaf()
	e.Create(e.t,
		secret(names.ClientSigner, corev1.SecretTypeOpaque, data),
		e.kubeconfig(leaf, e.signer.Trust()),
		secret(names.KonnectivityAgentCertificate, corev1.SecretTypeTLS, leaf.Data(e.signer.Trust())),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.KubeletClientCA}, Data: map[string]string{pki.TrustKey: string(e.signer.Trust())}},
	)
}

// leaf is the client certificate of the operator.
func (e *hostedCluster) leaf() *pki.Leaf {
	e.t.Helper()
	leaf, err := e.signer.Current.Issue(pki.Request{User: names.ControlPlaneOperatorUser, Groups: []string{names.ControlPlaneOperatorGroup}, Usage: pki.Client}, pki.DefaultTerms, e.clock.Now())
	e.must(err)
	return leaf
}

// kubeconfig is a kubeconfig with the certificate and the trusted authorities.
func (e *hostedCluster) kubeconfig(leaf *pki.Leaf, trust []byte) *corev1.Secret {
	e.t.Helper()
	text, err := pki.Kubeconfig("https://kube-apiserver."+namespace+".svc:6443", trust, leaf)
	e.must(err)
	return secret(names.ControlPlaneOperatorKubeconfig, corev1.SecretTypeOpaque, map[string][]byte{names.AdminKubeconfigFile: text})
}

// open connects to the hosted cluster.
func (e *hostedCluster) open(config *rest.Config) (client.WithWatch, error) {
	block, _ := pem.Decode(config.CertData)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, err
	}
	d := &authorizer{testEnv: e, user: cert.Subject.CommonName, master: slices.Contains(cert.Subject.Organization, "system:masters"), until: cert.NotAfter}
	return interceptor.NewClient(e.hosted.Client().(client.WithWatch), interceptor.Funcs{
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
		d.must(json.Unmarshal(text, applied))
		what = applied.Kind
	}
	reads := verb == "get" || verb == "list"
	if !reads {
		d.written = append(d.written, d.user+" "+verb+" "+what)
	}
	err := d.hosted.Admin().Get(ctx, client.ObjectKey{Name: names.ControlPlaneOperatorGroup}, &rbacv1.ClusterRoleBinding{})
	rbac := strings.Contains(what, "Role")
	switch {
	case d.master && !d.clock.Now().After(d.until):
		return nil
	case err != nil, rbac && !reads:
		return apierrors.NewForbidden(schema.GroupResource{Resource: what}, "", fmt.Errorf("%s cannot %s", d.user, verb))
	}
	return nil
}

func (e *hostedCluster) start() func(context.Context) error {
	e.reconciler = newReconciler(Options{Client: e.Client(), Status: controlplanestatus.New(e.Client(), e.Client()), Reader: e.Client(), Scheme: scheme, Recorder: e.events, Clock: e.clock, Releases: e.releases, Interval: interval, Open: e.open,
		Refused: func(why map[string]string) { e.refused = why }})
	e.controller = e.reconciler.controller()
	return func(ctx context.Context) error {
		hcp := e.hcp(ctx)
		if hcp == nil {
			return nil
		}
		return e.RecordResult(e.controller.ReconcileObject(ctx, hcp))
	}
}

// reconcileOnce reconciles once.
func (e *hostedCluster) reconcileOnce() {
	e.t.Helper()
	result, err := e.controller.ReconcileObject(e.t.Context(), e.hcp(e.t.Context()))
	e.must(err)
	e.next = result.RequeueAfter
}

// reconcileAll reconciles until the requeue time is long.
func (e *hostedCluster) reconcileAll() {
	e.t.Helper()
	for range 10 {
		e.reconcileOnce()
		if e.next >= interval {
			return
		}
		e.clock.Step(e.next)
	}
	e.t.Fatalf("is requeued after %s all the time: %s", e.next, e.conditionText(hyperv1.ConfigOperatorReconciliationSucceeded))
}

// reconcileLater advances the time by the interval, and then reconciles.
func (e *hostedCluster) reconcileLater() {
	e.t.Helper()
	e.clock.Step(2 * interval)
	e.reconcileAll()
}

func (e *hostedCluster) hcp(ctx context.Context) *hyperv1.HostedControlPlane {
	hcp := &hyperv1.HostedControlPlane{}
	if err := e.Admin().Get(ctx, client.ObjectKey{Namespace: namespace, Name: "demo"}, hcp); err != nil {
		e.must(client.IgnoreNotFound(err))
		return nil
	}
	// The fake API server decodes applied objects completely: fields without omitempty are empty afterwards, whoever
	// owns them.
	hcp.Status.ControlPlaneEndpoint = e.endpoint
	return hcp
}

// update updates the control plane as the hypershift-operator does.
func (e *hostedCluster) update(how func(*hyperv1.HostedControlPlane)) {
	e.t.Helper()
	hcp := e.hcp(e.t.Context())
	how(hcp)
	hcp.Generation++ // the API server does this
	e.must(e.Admin().Update(e.t.Context(), hcp))
}

// setAPIAvailable sets a condition of the hostedapi controller.
func (e *hostedCluster) setAPIAvailable(api metav1.ConditionStatus) {
	e.t.Helper()
	e.status(func(s *hyperv1.HostedControlPlaneStatus) {
		reconcile.SetCondition(&s.Conditions, metav1.Condition{Type: hyperv1.KubeAPIServerAvailable, Status: api}, e.clock.Now())
	})
}

func (e *hostedCluster) status(how func(*hyperv1.HostedControlPlaneStatus)) {
	e.t.Helper()
	hcp := e.hcp(e.t.Context())
	writer := reconcile.NewWriter(e.Admin(), e.Admin(), hcp, "others", func(hcp *hyperv1.HostedControlPlane) any {
		status := hcp.DeepCopy().Status
		status.NodeCount, status.RemainingCloudResources, status.NodeAccess, status.AutoNode = nil, nil, nil, nil
		for _, condition := range ownedConditions {
			meta.RemoveStatusCondition(&status.Conditions, condition)
		}
		return status
	})
	how(&hcp.Status)
	e.must(writer.Write(e.t.Context()))
}

func (e *hostedCluster) conditionText(condition string) string {
	c := meta.FindStatusCondition(e.hcp(e.t.Context()).Status.Conditions, condition)
	if c == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}

func (e *hostedCluster) expectCondition(condition, line string) {
	e.t.Helper()
	if got := e.conditionText(condition); got != line {
		e.t.Errorf("%s:\n got %s\nwant %s", condition, got, line)
	}
}

// inside reads an object of the hosted cluster and returns whether it exists.
func (e *hostedCluster) inside(namespace, name string, obj client.Object) bool {
	e.t.Helper()
	err := e.hosted.Admin().Get(e.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, obj)
	e.must(client.IgnoreNotFound(err))
	return err == nil
}

func (e *hostedCluster) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}
