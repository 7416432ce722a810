package nodes

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/keyutil"

	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodeconfig/nodeconfigtest"
)

// patience is how long a kubelet waits for its certificate before it asks again.
const patience = 10 * time.Second

// join does what a machine does when it starts.
func (n *Nodes) join(ctx context.Context, i types.Instance) error {
	data, err := n.userData(ctx, aws.ToString(i.InstanceId))
	if err != nil {
		return err
	}
	m, err := nodeconfigtest.Read(data)
	if err != nil {
		return err
	}
	name := aws.ToString(i.PrivateDnsName)
	key, err := n.key(aws.ToString(i.InstanceId))
	if err != nil {
		return err
	}
	kubelet, err := identity(ctx, n.bootstrap(m), name, key)
	if err != nil {
		return err
	}
	if err := register(ctx, kubelet, newNode(name, m, i), n.options.Kubelets[aws.ToString(i.ImageId)]); err != nil {
		return err
	}
	fmt.Fprintf(n.options.Progress, "machine %s has joined as %s\n", aws.ToString(i.InstanceId), name)
	return nil
}

func (n *Nodes) userData(ctx context.Context, instance string) ([]byte, error) {
	answer, err := n.options.EC2.DescribeInstanceAttribute(ctx, &ec2.DescribeInstanceAttributeInput{
		InstanceId: &instance, Attribute: types.InstanceAttributeNameUserData,
	})
	if err != nil {
		return nil, fmt.Errorf("reading the user data: %w", err)
	}
	if answer.UserData == nil || answer.UserData.Value == nil {
		return nil, fmt.Errorf("the machine has no user data")
	}
	text, err := base64.StdEncoding.DecodeString(*answer.UserData.Value)
	if err != nil {
		return nil, fmt.Errorf("reading the user data: %w", err)
	}
	return text, nil
}

// bootstrap is how the kubelet reaches the API server for the first time.
func (n *Nodes) bootstrap(m *nodeconfigtest.Node) *rest.Config {
	return &rest.Config{
		Host: m.Server, BearerToken: m.Token, TLSClientConfig: rest.TLSClientConfig{CAData: m.CA},
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, n.options.Address)
		},
	}
}

// key is the private key of a machine. A kubelet has it on its disk before it asks for a certificate, and asks for the same key
// until it has one: a machine is given a certificate for one key only.
func (n *Nodes) key(instance string) (*ecdsa.PrivateKey, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if key := n.keys[instance]; key != nil {
		return key, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the key of machine %s: %w", instance, err)
	}
	n.keys[instance] = key
	return key, nil
}

// identity gets the certificate of a node for a bootstrap token.
func identity(ctx context.Context, bootstrap *rest.Config, name string, private *ecdsa.PrivateKey) (kubernetes.Interface, error) {
	stranger, err := kubernetes.NewForConfig(bootstrap)
	if err != nil {
		return nil, fmt.Errorf("connecting with the bootstrap token: %w", err)
	}
	key, request, err := certificateRequest(name, private)
	if err != nil {
		return nil, err
	}
	requests := stranger.CertificatesV1().CertificateSigningRequests()
	if _, err := requests.Create(ctx, request, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("asking for a certificate: %w", err)
	}
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		asked, err := requests.Get(ctx, request.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		request = asked
		return len(asked.Status.Certificate) > 0, nil
	})
	if err != nil {
		return nil, fmt.Errorf("waiting for the certificate: %w", err)
	}
	c := rest.AnonymousClientConfig(bootstrap)
	c.CertData, c.KeyData = request.Status.Certificate, key
	kubelet, err := kubernetes.NewForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("connecting as the node: %w", err)
	}
	return kubelet, nil
}

// certificateRequest is for a key, which the name is made of as a kubelet does it: who asks again finds the request that there is.
func certificateRequest(name string, private *ecdsa.PrivateKey) (key []byte, _ *certificatesv1.CertificateSigningRequest, err error) {
	if key, err = keyutil.MarshalPrivateKeyToPEM(private); err != nil {
		return nil, nil, fmt.Errorf("writing the key of node %s: %w", name, err)
	}
	public, err := x509.MarshalPKIXPublicKey(private.Public())
	if err != nil {
		return nil, nil, fmt.Errorf("writing the key of node %s: %w", name, err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "system:node:" + name, Organization: []string{"system:nodes"}},
	}, private)
	if err != nil {
		return nil, nil, fmt.Errorf("making a certificate request: %w", err)
	}
	return key, &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-csr-%x", sha256.Sum256(public))},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}, nil
}

// newNode is what a kubelet with an external cloud provider registers.
func newNode(name string, m *nodeconfigtest.Node, i types.Instance) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: m.Labels},
		Spec:       corev1.NodeSpec{ProviderID: providerID(i), Taints: m.Taints},
	}
	node.Labels[corev1.LabelHostname] = name
	node.Labels[corev1.LabelOSStable] = "linux"
	node.Labels[corev1.LabelArchStable] = architectures[i.Architecture]
	node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: uninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule})
	return node
}

var architectures = map[types.ArchitectureValues]string{types.ArchitectureValuesX8664: "amd64", types.ArchitectureValuesArm64: "arm64"}

// register creates a Node and reports that it is well. As of a kubelet, that is a patch of the status alone: Cluster API may have
// taken a taint off the Node meanwhile, which a kubelet may not put back.
func register(ctx context.Context, kubelet kubernetes.Interface, node *corev1.Node, version string) error {
	if _, err := kubelet.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("registering node %s: %w", node.Name, err)
	}
	status := corev1.NodeStatus{
		NodeInfo:   corev1.NodeSystemInfo{KubeletVersion: version, Architecture: node.Labels[corev1.LabelArchStable], OperatingSystem: "linux"},
		Conditions: []corev1.NodeCondition{condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady")},
	}
	for _, pressure := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
		status.Conditions = append(status.Conditions, condition(pressure, corev1.ConditionFalse, "KubeletHasEnough"))
	}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return fmt.Errorf("writing the health of node %s: %w", node.Name, err)
	}
	if _, err := kubelet.CoreV1().Nodes().PatchStatus(ctx, node.Name, patch); err != nil {
		return fmt.Errorf("reporting the health of node %s: %w", node.Name, err)
	}
	return nil
}

func condition(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string) corev1.NodeCondition {
	now := metav1.Now()
	return corev1.NodeCondition{Type: kind, Status: status, Reason: reason, Message: "the test bed says so", LastHeartbeatTime: now, LastTransitionTime: now}
}
