package hostedclusterresources

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/objects"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/fixture"
	"github.com/hosted-control-planes/hypershift/test/fixture/process"
)

// apiServer is a real API server that trusts the signer of the environment.
type apiServer struct {
	*hostedCluster
	host string
	ca   []byte
}

// startAPIServer starts the API server of the hosted cluster.
func startAPIServer(t *testing.T) *apiServer {
	e := newHostedCluster(t)
	dir, assets := t.TempDir(), fixture.Assets(t)
	root, err := pki.NewSigner(names.RootCA, "", time.Now())
	e.Must(err)
	serving, err := root.Current.Issue(pki.Request{User: "kube-apiserver", Usage: pki.Server, Hosts: []string{"127.0.0.1"}}, pki.DefaultTerms, time.Now())
	e.Must(err)
	private, public, err := webidentity.GenerateKey()
	e.Must(err)
	for name, content := range map[string][]byte{
		"tls.crt": serving.CertPEM, "tls.key": serving.KeyPEM, "clients.crt": e.signer.Trust(), "sa.key": private, "sa.pub": public,
	} {
		e.Must(os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	etcd := &envtest.Etcd{Path: filepath.Join(assets, "etcd"), DataDir: filepath.Join(dir, "etcd"), StartTimeout: time.Minute}
	e.Must(os.Mkdir(etcd.DataDir, 0o700))
	e.Must(etcd.Start())
	t.Cleanup(func() { e.Must(etcd.Stop()) })
	port, err := process.FreePort()
	e.Must(err)
	server, err := process.Start(process.Spec{
		Name: "kube-apiserver", Path: filepath.Join(assets, "kube-apiserver"), Log: filepath.Join(dir, "log"),
		Args: []string{
			"--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(port), "--advertise-address=192.0.2.1", "--endpoint-reconciler-type=none",
			"--etcd-servers=" + etcd.URL.String(), "--service-cluster-ip-range=172.31.0.0/16",
			"--tls-cert-file=" + filepath.Join(dir, "tls.crt"), "--tls-private-key-file=" + filepath.Join(dir, "tls.key"), "--client-ca-file=" + filepath.Join(dir, "clients.crt"),
			"--authorization-mode=Node,RBAC", "--allow-privileged=true", "--enable-bootstrap-token-auth=true", "--disable-admission-plugins=ServiceAccount",
			"--service-account-issuer=https://example.com", "--service-account-key-file=" + filepath.Join(dir, "sa.pub"), "--service-account-signing-key-file=" + filepath.Join(dir, "sa.key"),
		},
	})
	e.Must(err)
	t.Cleanup(func() { server.Stop(10 * time.Second) })
	a := &apiServer{hostedCluster: e, host: "https://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), ca: root.Trust()}
	transport, err := rest.TransportFor(a.as("test", "system:masters"))
	e.Must(err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	e.Must(server.Ready(ctx, &http.Client{Transport: transport}, a.host+"/readyz"))

	leaf, err := e.signer.Current.Issue(pki.Request{User: names.ControlPlaneOperatorUser, Groups: []string{names.ControlPlaneOperatorGroup}, Usage: pki.Client}, pki.DefaultTerms, time.Now())
	e.Must(err)
	text, err := pki.Kubeconfig(a.host, a.ca, leaf)
	e.Must(err)
	e.Update(secret(names.ControlPlaneOperatorKubeconfig, corev1.SecretTypeOpaque, map[string][]byte{names.AdminKubeconfigFile: text}))
	e.reconciler = newReconciler(Options{Client: e.Client(), Status: controlplanestatus.New(e.Client(), e.Client()), Reader: e.Client(), Scheme: scheme, Recorder: e.Events, Clock: e.Clock, Releases: e.releases, Interval: interval})
	e.Use(e.passOf(e.reconciler))
	return a
}

// as returns a client with a certificate.
func (a *apiServer) as(user string, groups ...string) *rest.Config {
	a.T.Helper()
	leaf, err := a.signer.Current.Issue(pki.Request{User: user, Groups: groups, Usage: pki.Client}, pki.DefaultTerms, time.Now())
	a.Must(err)
	return &rest.Config{Host: a.host, QPS: -1, WarningHandler: rest.NoWarnings{}, TLSClientConfig: rest.TLSClientConfig{CAData: a.ca, CertData: leaf.CertPEM, KeyData: leaf.KeyPEM}}
}

func (a *apiServer) client(config *rest.Config) client.Client {
	a.T.Helper()
	c, err := client.New(config, client.Options{Scheme: scheme})
	a.Must(err)
	return c
}

// may checks the permissions of a user with the API server.
func (a *apiServer) may(c client.Client, verb, group, kind, namespace string) bool {
	a.T.Helper()
	kind, sub, _ := strings.Cut(kind, "/")
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
		Verb: verb, Group: group, Resource: kind, Subresource: sub, Namespace: namespace,
	}}}
	a.Must(c.Create(a.T.Context(), review))
	return review.Status.Allowed
}

// versions returns the resource versions of all objects that a set may have, and of all permissions.
func (a *apiServer) versions(c client.Client) map[string]string {
	a.T.Helper()
	versions := map[string]string{}
	for _, set := range append(objects.Independent(), objects.Set{Kinds: []client.ObjectList{&rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{}}}) {
		for _, kind := range set.Kinds {
			list := &metav1.PartialObjectMetadataList{}
			gvk, err := c.GroupVersionKindFor(kind)
			a.Must(err)
			list.SetGroupVersionKind(gvk)
			a.Must(c.List(a.T.Context(), list))
			for _, o := range list.Items {
				versions[fmt.Sprintf("%s %s/%s", gvk.Kind, o.Namespace, o.Name)] = o.ResourceVersion
			}
		}
	}
	return versions
}

// With real permissions and certificates: an operator without permissions sets up its own permissions and the cluster.
func TestSetupOnARealAPIServer(t *testing.T) {
	t.Parallel()
	a := startAPIServer(t)
	a.Create(a.token("abcdef"))
	a.reconcileAll()
	a.ExpectConditionText(resourcesCondition, succeeded)
	autoscaler := a.client(a.as(names.ClusterAutoscalerUser))
	if a.may(autoscaler, "list", "", "pods", "") {
		t.Error("the cluster autoscaler has permissions, and does not run")
	}
	a.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Annotations = map[string]string{hyperv1.ClusterAutoscalerAnnotation: "true"}
	})
	a.reconcileAll()
	for _, c := range []struct {
		verb, group, kind, where string
		want                     bool
	}{
		{"list", "", "pods", "", true},
		{"update", "", "nodes", "", true},
		{"create", "", "pods/eviction", "default", true},
		{"watch", "resource.k8s.io", "resourceslices", "", true},
		{"create", "coordination.k8s.io", "leases", "kube-system", true},
		{"delete", "", "nodes", "", false},
		{"get", "", "secrets", "kube-system", false},
		{"create", "coordination.k8s.io", "leases", "default", false},
	} {
		if got := a.may(autoscaler, c.verb, c.group, c.kind, c.where); got != c.want {
			t.Errorf("the cluster autoscaler may %s %s: %v", c.verb, c.kind, got)
		}
	}

	master := a.client(a.as("test", "system:masters"))
	before := a.versions(master)
	a.reconcileLater()
	for what, version := range a.versions(master) {
		if before[what] != version {
			t.Errorf("%s was written at rest: %q, %q", what, before[what], version)
		}
	}

	admin := a.client(a.as(names.AdminUser, names.AdminGroup))
	if !a.may(admin, "*", "*", "*", "") {
		t.Error("the administrator may not do everything")
	}
	capi := a.client(a.as(names.ClusterAPIUser, names.ClusterAPIGroup))
	operator := a.client(a.as(names.ControlPlaneOperatorUser, names.ControlPlaneOperatorGroup))
	for _, c := range []struct {
		who                            client.Client
		name, verb, group, kind, where string
		want                           bool
	}{
		{capi, "Cluster API", "patch", "", "nodes", "", true},
		{capi, "Cluster API", "create", "", "pods/eviction", "default", true},
		{capi, "Cluster API", "get", "apps", "daemonsets", "default", true},
		{capi, "Cluster API", "list", "storage.k8s.io", "volumeattachments", "", true},
		{capi, "Cluster API", "create", "", "pods", "default", false},
		{capi, "Cluster API", "get", "", "secrets", "kube-system", false},
		{capi, "Cluster API", "patch", "rbac.authorization.k8s.io", "clusterroles", "", false},
		{operator, "the operator", "get", "rbac.authorization.k8s.io", "clusterroles", "", true},
		{operator, "the operator", "patch", "rbac.authorization.k8s.io", "clusterroles", "", false},
		{operator, "the operator", "escalate", "rbac.authorization.k8s.io", "clusterroles", "", false},
		{operator, "the operator", "patch", "", "secrets", "kube-system", true},
		{operator, "the operator", "get", "", "secrets", "default", false},
		{operator, "the operator", "delete", "", "services", "default", false},
	} {
		if got := a.may(c.who, c.verb, c.group, c.kind, c.where); got != c.want {
			t.Errorf("%s may %s %s: %v", c.name, c.verb, c.kind, got)
		}
	}

	a.follow("worker")
	machine := a.client(&rest.Config{Host: a.host, BearerToken: "abcdef.0123456789abcdef", TLSClientConfig: rest.TLSClientConfig{CAData: a.ca}})
	if !a.may(machine, "create", "certificates.k8s.io", "certificatesigningrequests", "") || a.may(machine, "list", "", "secrets", "kube-system") {
		t.Error("a machine with a token cannot join, or can do more")
	}
	for path, want := range map[string]int{"/api/v1/namespaces/kube-public/configmaps/cluster-info": http.StatusOK, "/api/v1/nodes": http.StatusForbidden} {
		if got := a.anonymous(path); got != want {
			t.Errorf("who has nothing yet asks for %s: %d", path, got)
		}
	}
}

// flannel announces the address of a node in the node's annotations, by which other nodes send it packets.
func TestFlannelWritesToItsOwnNodeOnly(t *testing.T) {
	t.Parallel()
	a := startAPIServer(t)
	a.reconcileAll()
	a.ExpectConditionText(resourcesCondition, succeeded)
	master := a.client(a.as("test", "system:masters"))
	for _, name := range []string{"own", "other"} {
		a.Must(master.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	announce := func(node string, extra map[string][]string) error {
		config := a.as("test", "system:masters")
		config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:kube-system:flannel", Extra: extra}
		patch := client.RawPatch(types.StrategicMergePatchType, []byte(`{"metadata":{"annotations":{"flannel.alpha.coreos.com/public-ip":"192.0.2.1"}}}`))
		return a.client(config).Status().Patch(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, patch)
	}
	own := map[string][]string{"authentication.kubernetes.io/node-name": {"own"}}
	// The API server observes a new policy with a delay.
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		return apierrors.IsForbidden(announce("other", own)), nil
	})
	if err != nil {
		t.Error("flannel of one node writes to another node")
	}
	if err := announce("own", nil); !apierrors.IsForbidden(err) {
		t.Errorf("flannel without a node: %v", err)
	}
	if err := announce("own", own); err != nil {
		t.Errorf("flannel of the node: %v", err)
	}
}

// follow updates the trusted authorities as a node does.
func (a *apiServer) follow(name string) {
	a.T.Helper()
	a.Must(a.client(a.as("test", "system:masters")).Create(a.T.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	node := a.client(a.as("system:node:"+name, "system:nodes"))
	cm := &corev1.ConfigMap{}
	a.Must(node.Get(a.T.Context(), client.ObjectKey{Namespace: metav1.NamespacePublic, Name: names.NodeAuthorities}, cm))
	text := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, names.AuthoritiesAnnotation, cm.Data[names.AuthoritiesRevision])
	a.Must(node.Patch(a.T.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, client.RawPatch(types.MergePatchType, []byte(text))))
	if err := node.List(a.T.Context(), &corev1.ConfigMapList{}, client.InNamespace(metav1.NamespacePublic)); !apierrors.IsForbidden(err) {
		a.T.Errorf("a node may look around in %s: %v", metav1.NamespacePublic, err)
	}
}

// anonymous returns the status code for a client without credentials.
func (a *apiServer) anonymous(path string) (code int) {
	a.T.Helper()
	transport, err := rest.TransportFor(&rest.Config{Host: a.host, TLSClientConfig: rest.TLSClientConfig{CAData: a.ca}})
	a.Must(err)
	resp, err := (&http.Client{Transport: transport}).Get(a.host + path)
	a.Must(err)
	a.Must(resp.Body.Close())
	return resp.StatusCode
}

func TestNewNodesTriggerAReconcile(t *testing.T) {
	t.Parallel()
	a := startAPIServer(t)
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	a.Must(a.reconciler.connections.Watches().Start(t.Context(), queue))
	a.reconcileAll()
	a.Must(a.client(a.as("test", "system:masters")).Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker"}}))
	got, _ := queue.Get()
	if want := client.ObjectKeyFromObject(a.hcp()); got.NamespacedName != want {
		t.Errorf("woke %s, want %s", got, want)
	}
	a.Once()
	if n := a.hcp().Status.NodeCount; n == nil || *n != 1 {
		t.Errorf("counted %v", n)
	}
}

// During the cleanup no new cloud resources are created, and the cloud controllers can still update the existing
// objects.
func TestCleanupPolicyRejectsNewCloudResources(t *testing.T) {
	t.Parallel()
	a := startAPIServer(t)
	a.reconcileAll()
	user := a.client(a.as(names.AdminUser, names.AdminGroup))
	service := func(name string, kind corev1.ServiceType) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.ServiceSpec{Type: kind, Ports: []corev1.ServicePort{{Port: 80}}}}
	}
	there := service("there", corev1.ServiceTypeLoadBalancer)
	there.Finalizers = []string{"service.kubernetes.io/load-balancer-cleanup"}
	inner := service("inner", corev1.ServiceTypeClusterIP)
	a.Must(user.Create(t.Context(), there))
	a.Must(user.Create(t.Context(), inner))
	a.deleted(true)
	a.eventually("the permissions take effect", func(context.Context) bool {
		a.Once()
		a.Clock.Step(a.RequeueAfter)
		return !strings.Contains(a.ConditionText(destroyed), hyperv1.WaitingForPermissionsReason)
	})
	a.ExpectConditionText(destroyed, "False CloudResourcesRemaining: load balancer of Service default/there")
	a.eventually("the policy is obeyed", func(ctx context.Context) bool {
		return apierrors.IsForbidden(user.Create(ctx, service("new", corev1.ServiceTypeLoadBalancer), client.DryRunAll))
	})
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "new"}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
	if err := user.Create(t.Context(), claim); !apierrors.IsForbidden(err) {
		t.Errorf("a volume: %v", err)
	}
	balanced := inner.DeepCopy()
	balanced.Spec.Type = corev1.ServiceTypeLoadBalancer
	if err := user.Update(t.Context(), balanced); !apierrors.IsForbidden(err) {
		t.Errorf("a load balancer by a change of type: %v", err)
	}
	a.Must(user.Create(t.Context(), service("other", corev1.ServiceTypeClusterIP)))
	a.Must(user.Get(t.Context(), client.ObjectKeyFromObject(there), there))
	there.Finalizers = nil // the cloud controller does it
	a.Must(user.Update(t.Context(), there))
	a.Once()
	a.ExpectConditionText(destroyed, "True AsExpected: All is well")
}

func (a *apiServer) eventually(what string, is func(context.Context) bool) {
	a.T.Helper()
	err := wait.PollUntilContextTimeout(a.T.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) { return is(ctx), nil })
	if err != nil {
		a.T.Fatalf("not within a minute: %s", what)
	}
}
