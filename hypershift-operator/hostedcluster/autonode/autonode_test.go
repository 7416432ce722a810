package autonode

import (
	"bytes"
	"crypto/rand"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig/nodeconfigtest"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/fakerelease"
)

const kubeconfig = `
apiVersion: v1
kind: Config
clusters: [{name: demo, cluster: {server: "https://kube-apiserver:6443", certificate-authority-data: cm9vdAo=}}]
users: [{name: admin, user: {token: not-for-nodes}}]
contexts: [{name: admin, context: {cluster: demo, user: admin}}]
current-context: admin
`

// fixture returns a control plane with the facts that describe its nodes.
func fixture(t *testing.T) (*crashtest.Cluster, Cluster) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{hyperv1.AddToScheme, corev1.AddToScheme} {
		utilruntime.Must(add(scheme))
	}
	w := crashtest.NewCluster(crashtest.Options{
		Scheme: scheme, Converters: []managedfields.TypeConverter{crashtest.Converter("../../../config/crd")}, Kinds: []client.ObjectList{&corev1.SecretList{}},
	})
	hc := &hyperv1.HostedCluster{}
	hc.Namespace, hc.Name = "clusters", "demo"
	plane := controlplane.NamespaceOf(hc)
	at := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: plane.Name, Name: name} }
	w.Create(t,
		&corev1.Secret{ObjectMeta: at(names.ClusterKubeconfig("demo-x")), Data: map[string][]byte{names.ClusterKubeconfigFile: []byte(kubeconfig)}},
		&corev1.ConfigMap{ObjectMeta: at(names.KubeletClientCA), Data: map[string]string{pki.TrustKey: "authority"}},
	)
	pool := func(subnet string) hyperv1.NodePool {
		np := hyperv1.NodePool{}
		np.Spec.Platform.AWS = &hyperv1.AWSNodePoolPlatform{Subnet: hyperv1.AWSResourceReference{ID: ptr.To(subnet)}}
		return np
	}
	return w, Cluster{
		Plane: plane,
		ControlPlane: &hyperv1.HostedControlPlane{
			ObjectMeta: at("demo"),
			Spec: hyperv1.HostedControlPlaneSpec{
				InfraID: "demo-x",
				Platform: hyperv1.PlatformSpec{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSPlatformSpec{
					Region: "us-east-1", EndpointAccess: hyperv1.Private,
					CloudProviderConfig: &hyperv1.AWSCloudProviderConfig{Subnet: &hyperv1.AWSResourceReference{ID: ptr.To("subnet-0b")}},
				}},
				Networking: hyperv1.ClusterNetworking{ServiceNetwork: []hyperv1.ServiceNetworkEntry{{CIDR: "172.31.0.0/16"}}},
			},
			Status: hyperv1.HostedControlPlaneStatus{ControlPlaneEndpoint: hyperv1.APIEndpoint{Host: "api.demo.example.com", Port: 443}},
		},
		Release: &release.Release{Version: "1.36.3", KubernetesVersion: "1.36.3", BootImages: map[hyperv1.Architecture]map[string]release.BootImage{hyperv1.ArchitectureAMD64: {"us-east-1": {AMI: "ami-0a"}}}},
		Pools:   []hyperv1.NodePool{pool("subnet-0c"), pool("subnet-0a"), pool("subnet-0b")},
	}
}

func TestTheTokenChangesOnlyWithTheInputs(t *testing.T) {
	w, c := fixture(t)
	secret := func() map[string][]byte {
		t.Helper()
		// Each reconcile runs in a new process.
		writer := Writer{Reader: w.Client(), Applier: apply.New(w.Client(), w.Client().Scheme(), names.HypershiftOperator), Random: rand.Reader, Releases: fakerelease.New()}
		if err := writer.Ensure(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		s := &corev1.Secret{}
		if err := w.Admin().Get(t.Context(), c.Plane.Key(names.AutoNode), s); err != nil {
			t.Fatal(err)
		}
		return s.Data
	}
	first := secret()
	token := string(first[names.AutoNodeTokenID]) + "." + string(first[names.AutoNodeTokenSecret])
	node, err := nodeconfigtest.Read(first[names.AutoNodeUserData])
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(node.Server, "api.demo.hypershift.local") {
		t.Errorf("the user data lacks the address of the endpoint: %+v", node)
	}
	// No program would remove another taint. Karpenter would then create one node after the other, because its pods stay pending.
	if len(node.Taints) != 1 || node.Taints[0].Key != names.KarpenterTaint {
		t.Errorf("a node registers with the taints %v, want the one that Karpenter removes", node.Taints)
	}
	if len(token) != 23 {
		t.Errorf("the token is %q", token)
	}
	if device, set := first[names.AutoNodeRootDevice]; set {
		t.Errorf("the root device is %q, and the release names none", device)
	}
	if image, ids := string(first[names.AutoNodeImage]), string(first[names.AutoNodeSubnets]); image != "ami-0a" || ids != "subnet-0a,subnet-0b,subnet-0c" {
		t.Errorf("image %s, subnets %s", image, ids)
	}

	c.Pools = c.Pools[:1]
	second := secret()
	if !bytes.Equal(second[names.AutoNodeUserData], first[names.AutoNodeUserData]) || string(second[names.AutoNodeSubnets]) != "subnet-0b,subnet-0c" {
		t.Errorf("other subnets replace the user data, or are not used: %s", second[names.AutoNodeSubnets])
	}

	c.Release.BootImages[hyperv1.ArchitectureAMD64]["us-east-1"] = release.BootImage{AMI: "ami-0a", RootDevice: "/dev/sda1"}
	if ubuntu := secret(); string(ubuntu[names.AutoNodeRootDevice]) != "/dev/sda1" || !bytes.Equal(ubuntu[names.AutoNodeUserData], first[names.AutoNodeUserData]) {
		t.Errorf("the root device of the release is %q, or replaces the user data", ubuntu[names.AutoNodeRootDevice])
	}

	c.Release.KubernetesVersion = "1.37.0"
	third := secret()
	if bytes.Equal(third[names.AutoNodeUserData], first[names.AutoNodeUserData]) || bytes.Equal(third[names.AutoNodeTokenID], first[names.AutoNodeTokenID]) {
		t.Error("another version has the same user data, or the same token")
	}

	c.Release.Components = map[string]string{names.NodePrograms: "example.test/node-programs@sha256:" + strings.Repeat("a", 64)}
	fourth := secret()
	if node, err = nodeconfigtest.Read(fourth[names.AutoNodeUserData]); err != nil || !strings.Contains(node.Files["/etc/kubernetes/programs"], "v1.37.0") {
		t.Errorf("nodes on demand do not install the programs of the release: %v", err)
	}
}
