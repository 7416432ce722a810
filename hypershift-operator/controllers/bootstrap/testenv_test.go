package bootstrap

import (
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig/nodeconfigtest"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

const (
	namespace   = "clusters-demo"
	infraID     = "demo-x"
	machineName = "workers-abcde-fghij"
	configName  = "node-config-workers-0123456789abcdef0123"
)

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(hyperv1.AddToScheme(s))
	utilruntime.Must(corev1.AddToScheme(s))
	utilruntime.Must(clusterv1.AddToScheme(s))
	return s
}()

// testEnv is the namespace of a control plane with one machine, as far as this controller can see it.
type testEnv struct {
	*crashtest.Cluster
	clock *clocktesting.FakeClock
	// joins lets the machine become a node once it has user data.
	joins bool
	// answer is the result of the last pass.
	answer ctrl.Result
	// blind hides Secrets from the controller's cache.
	blind bool
}

func newTestEnv(t testing.TB) *testEnv {
	w := &testEnv{clock: clocktesting.NewFakeClock(time.Now())} // the fake API server stamps deletions with the real time
	w.Cluster = crashtest.NewCluster(crashtest.Options{
		Scheme:     scheme,
		Converters: []managedfields.TypeConverter{crashtest.Converter("../../../config/crd")},
		Kinds:      []client.ObjectList{&hyperv1.NodeBootstrapList{}, &corev1.SecretList{}, &clusterv1.MachineList{}},
		WithStatus: []client.Object{&hyperv1.NodeBootstrap{}, &clusterv1.Machine{}},
	})
	w.Create(t, controlPlane(), trustBundle(), clientAuthority(), machine(), nodeBootstrap())
	for _, secret := range inputs() {
		w.Create(t, secret)
	}
	return w
}

func controlPlane() *hyperv1.HostedControlPlane {
	return &hyperv1.HostedControlPlane{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo", Generation: 1},
		Spec: hyperv1.HostedControlPlaneSpec{
			InfraID:               infraID,
			SSHKey:                corev1.LocalObjectReference{Name: names.SSHKey},
			AdditionalTrustBundle: &corev1.LocalObjectReference{Name: names.UserCABundle},
			Platform:              hyperv1.PlatformSpec{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSPlatformSpec{EndpointAccess: hyperv1.PublicAndPrivate}},
			Networking: hyperv1.ClusterNetworking{
				MachineNetwork: []hyperv1.MachineNetworkEntry{{CIDR: "10.0.0.0/16"}},
				ClusterNetwork: []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14"}},
				ServiceNetwork: []hyperv1.ServiceNetworkEntry{{CIDR: "172.31.0.0/16"}, {CIDR: "fd03::/112"}},
			},
			Configuration: &hyperv1.ClusterConfiguration{Proxy: &configv1.ProxySpec{HTTPSProxy: "http://proxy:3128", NoProxy: "example.com"}},
		},
		Status: hyperv1.HostedControlPlaneStatus{ControlPlaneEndpoint: hyperv1.APIEndpoint{Host: "api.public.example.com", Port: 6443}},
	}
}

// inputs are the Secrets that others write.
func inputs() []client.Object {
	kubeconfig := `
apiVersion: v1
kind: Config
clusters: [{name: demo, cluster: {server: "https://kube-apiserver:6443", certificate-authority-data: cm9vdAo=}}]
users: [{name: admin, user: {token: not-for-nodes}}]
contexts: [{name: admin, context: {cluster: demo, user: admin}}]
current-context: admin
`
	return []client.Object{
		secret(names.ClusterKubeconfig(infraID), names.ClusterKubeconfigFile, kubeconfig),
		storedInputs(),
		sshKey(),
	}
}

// storedInputs is the Secret that the NodePool controller writes.
func storedInputs() *corev1.Secret {
	data, err := nodeconfig.Inputs{
		Pool: nodeconfig.Config{Kubelet: map[string]any{"maxPods": 110}},
		Cluster: nodeconfig.ClusterSettings{
			MachineNetworks: []string{"10.0.0.0/16"}, PodNetworks: []string{"10.132.0.0/14"}, ServiceNetworks: []string{"172.31.0.0/16", "fd03::/112"},
			Proxy:       nodeconfig.Proxy{HTTPS: "http://proxy:3128", NoProxy: "example.com"},
			TrustBundle: nodeconfig.Source{Name: "my-bundle", Text: "more\n"},
			SSHKey:      nodeconfig.Source{Name: "my-key", Text: "# mine\nssh-ed25519 AAAA me\n"},
		},
	}.Encode()
	utilruntime.Must(err)
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: configName}, Data: data}
}

// sshKey and trustBundle return copies of the user's objects.
func sshKey() client.Object {
	s := secret(names.SSHKey, "id_rsa.pub", "# mine\nssh-ed25519 AAAA me\n")
	s.Annotations = copiedFrom("my-key")
	return s
}

func copiedFrom(source string) map[string]string {
	return map[string]string{hyperv1.CopiedFromAnnotation: source}
}

func secret(name, key, value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{key: []byte(value)}}
}

func trustBundle() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.UserCABundle, Annotations: copiedFrom("my-bundle")}, Data: map[string]string{"ca-bundle.crt": "more\n"}}
}

// clientAuthority returns the control-plane-operator's ConfigMap about the API server as a client.
func clientAuthority() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.KubeletClientCA}, Data: map[string]string{"ca.crt": "clients\n"}}
}

func machine() *clusterv1.Machine {
	return &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: machineName, Labels: map[string]string{
			clusterv1.ClusterNameLabel: infraID, clusterv1.MachineDeploymentUniqueLabel: "12345", hyperv1.NodePoolLabel: "workers", "tier": "front",
		}},
		Spec: clusterv1.MachineSpec{
			ClusterName: infraID,
			Bootstrap:   clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{APIGroup: hyperv1.GroupVersion.Group, Kind: "NodeBootstrap", Name: machineName}},
			Taints:      []clusterv1.MachineTaint{{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule, Propagation: clusterv1.MachineTaintPropagationAlways}},
		},
	}
}

// nodeBootstrap is as Cluster API makes it: first without an owner.
func nodeBootstrap() *hyperv1.NodeBootstrap {
	return &hyperv1.NodeBootstrap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: machineName, Generation: 1},
		Spec:       hyperv1.NodeBootstrapSpec{NodePoolName: "workers", ConfigName: configName, Version: "v1.36.3"},
	}
}

// start makes the controller anew, and returns one pass over everything that it watches.
func (w *testEnv) start() func(context.Context) error {
	c := w.Client()
	r := New(Options{Client: cached{c, w}, Reader: c, Scheme: scheme, Clock: w.clock, Random: rand.Reader})
	return func(ctx context.Context) error {
		var err error
		w.answer, err = r.Reconcile(ctx, ctrl.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: machineName}})
		return w.RecordResult(w.answer, err)
	}
}

// cached is the client of the controller.
type cached struct {
	client.Client
	w *testEnv
}

func (c cached) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, ok := list.(*corev1.SecretList); ok && c.w.blind {
		return nil
	}
	return c.Client.List(ctx, list, opts...)
}

// clusterAPI acts for Cluster API and for the machine.
func (w *testEnv) clusterAPI(ctx context.Context) error {
	c := w.Admin()
	m, nb := &clusterv1.Machine{}, &hyperv1.NodeBootstrap{}
	key := client.ObjectKey{Namespace: namespace, Name: machineName}
	if err := c.Get(ctx, key, m); err != nil {
		return client.IgnoreNotFound(err)
	}
	if err := c.Get(ctx, key, nb); err != nil {
		return client.IgnoreNotFound(err)
	}
	if metav1.GetControllerOf(nb) == nil {
		if err := controllerutil.SetControllerReference(m, nb, scheme); err != nil {
			return err
		}
		return c.Update(ctx, nb)
	}
	if w.joins && ptr.Deref(nb.Status.Initialization.DataSecretCreated, false) && !m.Status.NodeRef.IsDefined() {
		m.Status.NodeRef.Name = "ip-10-0-0-1.ec2.internal"
		return c.Status().Update(ctx, m)
	}
	return nil
}

func (w *testEnv) get(ctx context.Context, name string, obj client.Object) error {
	return w.Admin().Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, obj)
}

func (w *testEnv) mustGet(t testing.TB, name string, obj client.Object) {
	t.Helper()
	if err := w.get(t.Context(), name, obj); err != nil {
		t.Fatalf("getting %T %s: %v", obj, name, err)
	}
}

// userData returns the configuration with which the machine would start now.
func (w *testEnv) userData(t testing.TB) *nodeconfigtest.Node {
	t.Helper()
	s := &corev1.Secret{}
	w.mustGet(t, "user-data-"+machineName, s)
	node, err := nodeconfigtest.Read(s.Data["value"])
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// tokens are those that let somebody in now, by the name of their Secrets.
func (w *testEnv) tokens(t testing.TB) map[string]string {
	t.Helper()
	list := &corev1.SecretList{}
	if err := w.Admin().List(t.Context(), list, client.InNamespace(namespace), client.HasLabels{hyperv1.BootstrapTokenLabel}); err != nil {
		t.Fatal(err)
	}
	tokens := map[string]string{}
	for _, s := range list.Items {
		tokens[s.Name] = string(s.Data["token-id"]) + "." + string(s.Data["token-secret"])
	}
	return tokens
}

func (w *testEnv) condition(t testing.TB, conditionType string) metav1.Condition {
	t.Helper()
	nb := &hyperv1.NodeBootstrap{}
	w.mustGet(t, machineName, nb)
	return ptr.Deref(meta.FindStatusCondition(nb.Status.Conditions, conditionType), metav1.Condition{})
}

// ready returns why the final state is not reached yet.
func (w *testEnv) ready(ctx context.Context) string {
	nb := &hyperv1.NodeBootstrap{}
	if err := w.get(ctx, machineName, nb); err != nil {
		return err.Error()
	}
	for _, c := range []string{hyperv1.NodeBootstrapDataSecretCreatedCondition, hyperv1.NodeBootstrapReadyCondition} {
		if !meta.IsStatusConditionTrue(nb.Status.Conditions, c) {
			return fmt.Sprintf("%s is not True: %v", c, nb.Status.Conditions)
		}
	}
	list := &corev1.SecretList{}
	if err := w.Admin().List(ctx, list, client.HasLabels{hyperv1.BootstrapTokenLabel}); err != nil {
		return err.Error()
	}
	if has := len(list.Items) > 0; has == w.joins {
		return fmt.Sprintf("a token is there: %v", has)
	}
	return ""
}

// random matches texts that differ between two runs: hashes over tokens and dates.
var random = regexp.MustCompile(`hypershift.openshift.io/applied: \S+`)

func (w *testEnv) scenario() *crashtest.Scenario {
	return &crashtest.Scenario{
		Cluster:          w.Cluster,
		Start:            w.start,
		OtherControllers: w.clusterAPI,
		Advance:          w.clock.Step,
		Ready:            w.ready,
		Delete: func(ctx context.Context) error {
			// The inputs of the machine are deleted with it.
			for _, obj := range slices.Concat([]client.Object{machine(), nodeBootstrap()}, inputs()) {
				if err := w.Admin().Delete(ctx, obj); client.IgnoreNotFound(err) != nil {
					return err
				}
			}
			return nil
		},
		Mask: func(text string) string { return random.ReplaceAllString(text, "applied: ...") },
	}
}
