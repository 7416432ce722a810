package bed

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/bed/process"
)

//go:embed cloud-rbac.yaml
var cloudRBAC string

// StartCloud gives the cluster a Node for each instance of the management account and a real cloud-controller-manager, so that
// Services of type LoadBalancer become load balancers with a host name.
func (b *Bed) StartCloud(ctx context.Context, aws *awsemulator.Emulator, account *awsemulator.Management) error {
	if b.plane == nil {
		return errors.New("an existing cluster has a cloud-controller-manager of its own, or none; a second one for the emulator would fight it")
	}
	paths, err := pinned.Ensure(ctx, b.progress, "aws-cloud-controller-manager")
	if err != nil {
		return err
	}
	kube, err := kubernetes.NewForConfig(b.Config)
	if err != nil {
		return fmt.Errorf("starting the cloud-controller-manager: %w", err)
	}
	for _, instance := range account.Instances {
		if err := createNode(ctx, kube, instance); err != nil {
			return err
		}
	}
	if err := b.ApplyYAML(ctx, cloudRBAC); err != nil {
		return err
	}
	_, kubeconfig, err := b.user("system:cloud-controller-manager")
	if err != nil {
		return err
	}
	config := b.path("cloud.conf")
	if err := os.WriteFile(config, []byte(cloudConfig(account)), 0o644); err != nil {
		return fmt.Errorf("configuring the cloud-controller-manager: %w", err)
	}
	port, err := process.FreePort()
	if err != nil {
		return err
	}
	return b.run(ctx, process.Spec{
		Name: "aws-cloud-controller-manager",
		Path: paths["aws-cloud-controller-manager"],
		Args: []string{
			"--cloud-provider=aws",
			"--cloud-config=" + config,
			"--kubeconfig=" + kubeconfig,
			"--authentication-skip-lookup=true",
			"--configure-cloud-routes=false",
			"--leader-elect=false",
			"--bind-address=127.0.0.1",
			"--secure-port=" + strconv.Itoa(port),
			"--v=2",
		},
		// Nothing of the user's own AWS configuration: it must not reach AWS from here.
		Env: append(aws.Env(account.Account), "HOME="+b.Dir),
	}, fmt.Sprintf("https://127.0.0.1:%d/healthz", port))
}

// cloudConfig names a subnet so that the controller does not ask the metadata of the machine it runs on for one.
func cloudConfig(account *awsemulator.Management) string {
	subnet := account.Private[0]
	return strings.Join([]string{
		"[Global]",
		"Zone = " + subnet.Zone,
		"Region = " + region(subnet.Zone),
		"VPC = " + account.VPC,
		"SubnetID = " + subnet.ID,
		"KubernetesClusterID = " + account.ClusterID,
		"",
	}, "\n")
}

// region is the name of a zone without its letter.
func region(zone string) string { return zone[:len(zone)-1] }

// createNode registers an instance the way its kubelet would have: initialized and ready, or load balancers leave it out.
func createNode(ctx context.Context, kube kubernetes.Interface, instance awsemulator.Instance) error {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: instance.PrivateDNSName,
			Labels: map[string]string{
				corev1.LabelHostname:       instance.PrivateDNSName,
				corev1.LabelTopologyZone:   instance.Zone,
				corev1.LabelTopologyRegion: region(instance.Zone),
			},
		},
		Spec: corev1.NodeSpec{ProviderID: instance.ProviderID},
	}
	created, err := kube.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating node %s: %w", node.Name, err)
	}
	created.Status = corev1.NodeStatus{
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: instance.PrivateIP},
			{Type: corev1.NodeHostName, Address: instance.PrivateDNSName},
		},
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "NoKubelet", Message: "the test bed says so"}},
	}
	if _, err := kube.CoreV1().Nodes().UpdateStatus(ctx, created, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("making node %s ready: %w", node.Name, err)
	}
	return nil
}
