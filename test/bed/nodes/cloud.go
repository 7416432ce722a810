package nodes

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// uninitialized is the key of the taint that a kubelet with an external cloud provider starts with.
const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

// initialize tells a new Node what only the cloud knows, as the cloud controller does; it then takes its taint away, and that
// of the controller manager, which finds the node ready.
func (n *Nodes) initialize(ctx context.Context, node *corev1.Node, i types.Instance) error {
	isTaint := func(t corev1.Taint) bool { return t.Key == uninitialized }
	if !slices.ContainsFunc(node.Spec.Taints, isTaint) {
		return nil
	}
	nodes := n.kube.CoreV1().Nodes()
	zone := aws.ToString(i.Placement.AvailabilityZone)
	node.Labels[corev1.LabelTopologyZone] = zone
	node.Labels[corev1.LabelTopologyRegion] = zone[:len(zone)-1]
	node.Labels[corev1.LabelInstanceTypeStable] = string(i.InstanceType)
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return isTaint(t) || t.Key == corev1.TaintNodeNotReady })
	node.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: aws.ToString(i.PrivateIpAddress)},
		{Type: corev1.NodeInternalDNS, Address: aws.ToString(i.PrivateDnsName)},
		{Type: corev1.NodeHostName, Address: aws.ToString(i.PrivateDnsName)},
	}
	updated, err := nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{})
	if err == nil {
		node.ResourceVersion = updated.ResourceVersion
		_, err = nodes.Update(ctx, node, metav1.UpdateOptions{})
	}
	if apierrors.IsConflict(err) {
		return nil // the next pass
	}
	if err != nil {
		return fmt.Errorf("initializing node %s: %w", node.Name, err)
	}
	return nil
}

// forget removes the Node, if there is one, of an instance that is gone.
func (n *Nodes) forget(ctx context.Context, node *corev1.Node) error {
	if node == nil {
		return nil
	}
	err := n.kube.CoreV1().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting node %s: %w", node.Name, err)
	}
	fmt.Fprintf(n.options.Progress, "node %s is gone with its machine\n", node.Name)
	return nil
}

// NotReady makes a node what it is when its kubelet has not been heard of for a while.
func (n *Nodes) NotReady(ctx context.Context, name string) error {
	nodes := n.kube.CoreV1().Nodes()
	node, err := nodes.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("looking for node %s: %w", name, err)
	}
	for i, c := range node.Status.Conditions {
		node.Status.Conditions[i] = condition(c.Type, corev1.ConditionUnknown, "NodeStatusUnknown")
	}
	if _, err := nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("making node %s not ready: %w", name, err)
	}
	return nil
}
