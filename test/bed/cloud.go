package bed

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/bed/cloudcontroller"
)

// StartCloud gives the cluster a Node for each instance of the management account and a real cloud-controller-manager, so that
// Services of type LoadBalancer become load balancers with a host name.
func (b *Bed) StartCloud(ctx context.Context, aws *awsemulator.Emulator, account *awsemulator.Management) error {
	if b.plane == nil {
		return errors.New("an existing cluster has a cloud-controller-manager of its own, or none; a second one for the emulator would fight it")
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
	if err := b.ApplyYAML(ctx, cloudcontroller.RBAC); err != nil {
		return err
	}
	_, kubeconfig, err := b.user(cloudcontroller.User)
	if err != nil {
		return err
	}
	paths, err := pinned.Ensure(ctx, b.progress, cloudcontroller.Name)
	if err != nil {
		return err
	}
	spec, health, err := cloudcontroller.Spec(cloudcontroller.Options{
		AWS: aws, Account: account, Program: paths[cloudcontroller.Name], Kubeconfig: kubeconfig, Dir: b.Dir,
	})
	if err != nil {
		return err
	}
	return b.run(ctx, spec, health)
}

// createNode registers an instance the way its kubelet would have: initialized and ready, or load balancers leave it out.
func createNode(ctx context.Context, kube kubernetes.Interface, instance awsemulator.Instance) error {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: instance.PrivateDNSName,
			Labels: map[string]string{
				corev1.LabelHostname:       instance.PrivateDNSName,
				corev1.LabelTopologyZone:   instance.Zone,
				corev1.LabelTopologyRegion: awsemulator.RegionOf(instance.Zone),
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
