package bootstrap

import (
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"slices"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig/nodeconfigtest"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const (
	namespace   = testenv.Namespace
	infraID     = testenv.InfraID
	machineName = "workers-abcde-fghij"
	configName  = "node-config-workers-0123456789abcdef0123"
)

var scheme = testenv.Scheme(clusterv1.AddToScheme)

// fakeMachine is the namespace of a control plane with one machine, as far as this controller can see it.
type fakeMachine struct {
	*testenv.Env
	// joins lets the machine become a node once it has user data.
	joins bool
	// blind hides Secrets from the controller's cache.
	blind bool
}

func newFakeMachine(t testing.TB) *fakeMachine {
	e := &fakeMachine{Env: testenv.New(t,
		testenv.WithScheme(scheme), testenv.WithSchemas("config/crd"), testenv.WithRealTime(),
		testenv.For(nodeBootstrap(), &hyperv1.NodeBootstrapList{}),
		testenv.WithKinds(&corev1.SecretList{}, &clusterv1.MachineList{}),
		testenv.WithStatus(&clusterv1.Machine{}),
		testenv.WithObjects(controlPlane(), trustBundle(), clientAuthority(), machine()),
		testenv.WithObjects(inputs()...),
	)}
	e.Start, e.Others = e.start, e.clusterAPI
	return e
}

func controlPlane() *hyperv1.HostedControlPlane {
	return testenv.HostedControlPlane(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.SSHKey = corev1.LocalObjectReference{Name: names.SSHKey}
		hcp.Spec.AdditionalTrustBundle = &corev1.LocalObjectReference{Name: names.UserCABundle}
		hcp.Spec.Platform.AWS.EndpointAccess = hyperv1.PublicAndPrivate
		hcp.Spec.Networking.ServiceNetwork = append(hcp.Spec.Networking.ServiceNetwork, hyperv1.ServiceNetworkEntry{CIDR: "fd03::/112"})
		hcp.Spec.Configuration = &hyperv1.ClusterConfiguration{Proxy: &configv1.ProxySpec{HTTPSProxy: "http://proxy:3128", NoProxy: "example.com"}}
		hcp.Status.ControlPlaneEndpoint = hyperv1.APIEndpoint{Host: "api.public.example.com", Port: 6443}
	})
}

// inputs are the Secrets that others write.
func inputs() []client.Object {
	return []client.Object{
		testenv.Secret(names.ClusterKubeconfig(infraID), names.ClusterKubeconfigFile, testenv.Kubeconfig("https://kube-apiserver:6443", "cm9vdAo=", "not-for-nodes")),
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
	return &corev1.Secret{ObjectMeta: testenv.In(namespace, configName), Data: data}
}

// sshKey and trustBundle return copies of the user's objects.
func sshKey() client.Object {
	s := testenv.Secret(names.SSHKey, "id_rsa.pub", "# mine\nssh-ed25519 AAAA me\n")
	s.Annotations = copiedFrom("my-key")
	return s
}

func copiedFrom(source string) map[string]string {
	return map[string]string{hyperv1.CopiedFromAnnotation: source}
}

func trustBundle() *corev1.ConfigMap {
	cm := testenv.ConfigMap(names.UserCABundle, "ca-bundle.crt", "more\n")
	cm.Annotations = copiedFrom("my-bundle")
	return cm
}

// clientAuthority returns the control-plane-operator's ConfigMap about the API server as a client.
func clientAuthority() *corev1.ConfigMap {
	return testenv.ConfigMap(names.KubeletClientCA, "ca.crt", "clients\n")
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

func (e *fakeMachine) start() testenv.Pass {
	cached := e.ClientWith(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*corev1.SecretList); ok && e.blind {
				return nil
			}
			return c.List(ctx, list, opts...)
		},
	})
	r := New(Options{Client: cached, Reader: e.Client(), Scheme: scheme, Clock: e.Clock, Random: rand.Reader})
	return func(ctx context.Context) error {
		return e.RecordResult(r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)}))
	}
}

// clusterAPI acts for Cluster API and for the machine.
func (e *fakeMachine) clusterAPI(ctx context.Context) error {
	c := e.Admin()
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
	if e.joins && ptr.Deref(nb.Status.Initialization.DataSecretCreated, false) && !m.Status.NodeRef.IsDefined() {
		m.Status.NodeRef.Name = "ip-10-0-0-1.ec2.internal"
		return c.Status().Update(ctx, m)
	}
	return nil
}

// userData returns the configuration with which the machine would start now.
func (e *fakeMachine) userData() *nodeconfigtest.Node {
	e.T.Helper()
	s := testenv.Named(e.Env, "user-data-"+machineName, &corev1.Secret{})
	node, err := nodeconfigtest.Read(s.Data["value"])
	e.Must(err)
	return node
}

// tokens are those that let somebody in now, by the name of their Secrets.
func (e *fakeMachine) tokens() map[string]string {
	e.T.Helper()
	tokens := map[string]string{}
	for _, s := range testenv.Listed(e.Env, &corev1.SecretList{}, client.HasLabels{hyperv1.BootstrapTokenLabel}).Items {
		tokens[s.Name] = string(s.Data["token-id"]) + "." + string(s.Data["token-secret"])
	}
	return tokens
}

// ready returns why the final state is not reached yet.
func (e *fakeMachine) ready(ctx context.Context) string {
	missing := e.Ready(hyperv1.NodeBootstrapDataSecretCreatedCondition, hyperv1.NodeBootstrapReadyCondition)(ctx)
	if hasToken := len(e.tokens()) > 0; missing == "" && hasToken == e.joins {
		return fmt.Sprintf("a token is there: %v", hasToken)
	}
	return missing
}

// random matches texts that differ between two runs: hashes over tokens and dates.
var random = regexp.MustCompile(`hypershift.openshift.io/applied: \S+`)

func (e *fakeMachine) scenario() *crashtest.Scenario {
	s := e.Scenario()
	s.Ready = e.ready
	s.Mask = func(text string) string { return random.ReplaceAllString(text, "applied: ...") }
	s.Delete = func(ctx context.Context) error {
		// The inputs of the machine are deleted with it.
		for _, obj := range slices.Concat([]client.Object{machine(), nodeBootstrap()}, inputs()) {
			if err := e.Admin().Delete(ctx, obj); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
		return nil
	}
	return s
}
