package nodes_test

import (
	"context"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/go-logr/logr"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodeconfig"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/bed"
	"github.com/hosted-control-planes/hypershift/test/bed/hostedapi"
	"github.com/hosted-control-planes/hypershift/test/bed/nodes"
)

const (
	namespace = "clusters-example" // of the control plane
	infraID   = "example-x7k2p"
	token     = "abcdef.0123456789abcdef"
)

// world is a management cluster with what the operator has made of a hosted cluster, its API server, and its account.
type world struct {
	management kubernetes.Interface
	hosted     kubernetes.Interface
	api        *hostedapi.API
	nodes      *nodes.Nodes
	ec2        *ec2.Client
	subnet     string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	cloud, err := awsemulator.Start(t.Context(), awsemulator.Options{Log: t.Output()})
	must(err)
	t.Cleanup(cloud.Stop)
	customer, err := cloud.SeedCustomer(t.Context(), awsemulator.CustomerOptions{Name: "example", InfraID: infraID, Issuer: "https://issuer.example.test"})
	must(err)
	crds, err := bed.DefaultCRDs()
	must(err)
	b, err := bed.Start(t.Context(), bed.Options{Progress: t.Output(), CRDs: crds})
	must(err)
	t.Cleanup(func() {
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
	})
	w := &world{ec2: ec2.NewFromConfig(cloud.Config(customer.Account)), subnet: customer.Subnets[0].ID}
	w.management, err = kubernetes.NewForConfig(b.Config)
	must(err)
	must(b.ApplyYAML(t.Context(), "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}"))
	private, public, err := webidentity.GenerateKey()
	must(err)
	w.secret(t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: names.ServiceAccountSigningKey},
		Data:       map[string][]byte{names.ServiceAccountPrivateKeyFile: private, names.ServiceAccountPublicKeyFile: public},
	})
	server, err := b.Another(t.Context())
	must(err)
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "example"}}
	hc.Spec.InfraID, hc.Spec.IssuerURL = infraID, "https://issuer.example.test"
	log := filepath.Join(t.TempDir(), "kube-apiserver.log")
	w.api, err = hostedapi.Start(t.Context(), hostedapi.Options{Management: b.Config, Server: server, Dir: t.TempDir(), Log: log, Progress: t.Output()}, hc)
	must(err)
	t.Cleanup(w.api.Stop)
	t.Cleanup(func() {
		if t.Failed() {
			text, _ := os.ReadFile(log)
			t.Logf("%s", text[max(0, len(text)-4000):])
		}
	})
	w.hosted, err = kubernetes.NewForConfig(w.api.Config)
	must(err)
	w.nodes, err = nodes.Start(t.Context(), nodes.Options{EC2: w.ec2, InfraID: infraID, Address: w.api.Address, Admin: w.api.Config, Progress: t.Output()})
	must(err)
	t.Cleanup(w.nodes.Stop)
	return w
}

func (w *world) secret(t *testing.T, s *corev1.Secret) {
	t.Helper()
	if _, err := w.management.CoreV1().Secrets(namespace).Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// letIn does what the control-plane-operator does in a hosted cluster for machines that are to join.
func (w *world) letIn(t *testing.T) {
	t.Helper()
	_, err := w.hosted.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "machines-may-join"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:node-bootstrapper"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:bootstrappers"}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for ctx := t.Context(); ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
			if err := w.approve(ctx); err != nil && ctx.Err() == nil {
				t.Logf("approving: %v", err)
			}
		}
	}()
	_, err = w.hosted.CoreV1().Secrets(metav1.NamespaceSystem).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-abcdef"},
		Type:       corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{"token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true", "auth-extra-groups": "system:bootstrappers:a"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// approve approves all certificate requests, as the control-plane-operator does those of its machines.
func (w *world) approve(ctx context.Context) error {
	requests := w.hosted.CertificatesV1().CertificateSigningRequests()
	all, err := requests.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, request := range all.Items {
		if len(request.Status.Conditions) > 0 {
			continue
		}
		request.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test"}}
		if _, err := requests.UpdateApproval(ctx, request.Name, &request, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// launch starts an instance with user data of the operator.
func (w *world) launch(t *testing.T, m nodeconfig.Machine) types.Instance {
	t.Helper()
	data, err := nodeconfig.Render(nodeconfig.Config{}, m)
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.ec2.RunInstances(t.Context(), &ec2.RunInstancesInput{
		ImageId: aws.String(awsemulator.ImageAMD64), InstanceType: types.InstanceTypeM5Large, MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		SubnetId: &w.subnet, UserData: aws.String(base64.StdEncoding.EncodeToString(data)),
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{{Key: aws.String(names.ClusterTag(infraID)), Value: aws.String("owned")}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Instances[0]
}

func TestAMachineJoinsAndGoes(t *testing.T) {
	w := newWorld(t)
	w.eventually(t, "the Secrets lead in", w.leadIn)
	w.letIn(t)
	m := nodeconfig.Machine{
		Server: "https://" + names.LocalAPI("example") + ":443", CA: w.api.Config.CAData, Token: token,
		Labels: map[string]string{"team": "blue"}, Taints: []corev1.Taint{{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoExecute}},
	}
	i := w.launch(t, m)
	name := aws.ToString(i.PrivateDnsName)
	node := &corev1.Node{}
	w.eventually(t, "the node is there, ready and known to the cloud", func(ctx context.Context) (err error) {
		if node, err = w.hosted.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		if node.Labels[corev1.LabelTopologyZone] == "" || len(node.Spec.Taints) != 2 {
			return errors.New("it is not initialized")
		}
		return ready(node, corev1.ConditionTrue)
	})
	if want := "aws:///" + aws.ToString(i.Placement.AvailabilityZone) + "/" + aws.ToString(i.InstanceId); node.Spec.ProviderID != want {
		t.Errorf("the provider id is %q, not %q", node.Spec.ProviderID, want)
	}
	if node.Labels["team"] != "blue" || node.Labels[corev1.LabelInstanceTypeStable] != "m5.large" {
		t.Errorf("the labels are %v", node.Labels)
	}

	m.Token = "ghijkl.0123456789abcdef" // not that one: the API server remembers it for some seconds
	late := w.launch(t, m)
	w.eventually(t, "whoever comes without one is not let in", func(context.Context) error {
		if err := w.nodes.Problems()[*late.InstanceId]; !apierrors.IsUnauthorized(err) {
			return errors.Join(errors.New("it was not refused"), err)
		}
		return nil
	})

	if err := w.nodes.NotReady(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, "a node can fail", func(ctx context.Context) error {
		node, err := w.hosted.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		return errors.Join(err, ready(node, corev1.ConditionUnknown))
	})
	if _, err := w.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{*i.InstanceId}}); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, "the node goes with its machine", func(ctx context.Context) error {
		_, err := w.hosted.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		return gone(err)
	})
}

// leadIn complains unless what the Secrets of the control plane say works, for Cluster API and for people.
func (w *world) leadIn(ctx context.Context) error {
	for name, key := range map[string]string{names.ClusterKubeconfig(infraID): names.ClusterKubeconfigFile, names.AdminKubeconfig: names.AdminKubeconfigFile} {
		secret, err := w.management.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data[key])
		if err != nil {
			return err
		}
		kube, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		if _, err := kube.CoreV1().Namespaces().List(ctx, metav1.ListOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func ready(node *corev1.Node, want corev1.ConditionStatus) error {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == want {
			return nil
		}
	}
	return errors.New("Ready is not " + string(want))
}

func gone(err error) error {
	if err == nil {
		return errors.New("it is still there")
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (w *world) eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	var complaint error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		complaint = check(ctx)
		return complaint == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v; problems of machines: %v", what, complaint, w.nodes.Problems())
	}
}
