//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
	"github.com/hosted-control-planes/hypershift/test/lab/images"
)

// TestKarpenter gives a private cluster nodes on demand: a pod that fits on no node gets one, which joins through the endpoint and
// is removed when it is idle, or when spec.autoNode is removed. The deletion of the cluster, with another such node, leaves no instance.
func TestKarpenter(t *testing.T) {
	begin(t)
	h := newHosted(t, "karpenter", on.Versions[0])
	pushed, err := images.Push(t.Context(), images.Options{Registry: cluster.Registry, Progress: t.Output()}, images.Karpenter)
	h.must(err)
	h.hc.Spec.Release.Image, err = on.PushRelease(t.Context(), "v"+on.Versions[0]+"-karpenter", on.Versions[0], map[string]string{images.Karpenter: pushed[images.Karpenter]})
	h.must(err)
	h.hc.Spec.Platform.AWS.EndpointAccess = hyperv1.PublicAndPrivate
	h.create()
	pool := h.nodePool("karpenter", 1) // for the components of the cluster, for which Karpenter would create a node, too
	h.must(h.management.Create(t.Context(), pool))
	h.available()
	h.eventually("the machine of the pool is a node", func(ctx context.Context) error { return h.poolReady(ctx, pool, 1) })
	runAll(t, h.kubeconfig, []command{{name: "DNS runs", args: "rollout status deployment/coredns -n kube-system --timeout=60s", want: `successfully rolled out`}})
	h.change(func(hc *hyperv1.HostedCluster) {
		hc.Spec.AutoNode = &hyperv1.AutoNode{Provisioner: hyperv1.ProvisionerConfig{Name: hyperv1.ProvisionerKarpenter, Karpenter: &hyperv1.KarpenterConfig{
			Platform: hyperv1.AWSPlatform, AWS: &hyperv1.KarpenterAWSConfig{RoleARN: hyperv1.RoleARN(h.customer.KarpenterRole)},
		}}}
	})
	h.waitForCondition(hyperv1.AutoNodeEnabled, "True")

	runAll(t, h.kubeconfig, []command{
		{name: "create a Deployment", args: "apply -f -", stdin: onDemand(on.Images["pause"]), want: `deployment.apps/on-demand created`},
	})
	h.eventually("a pending pod gets a node", func(ctx context.Context) error { return h.nodesOnDemand(ctx, 1) })
	h.rootVolumesOnDemand()
	runAll(t, h.kubeconfig, []command{
		{name: "the pod runs", args: "rollout status deployment/on-demand --timeout=240s", want: `successfully rolled out`},
		{name: "Karpenter knows the node", args: "get nodeclaims -o jsonpath={.items[*].status.conditions[?(@.type==\"Registered\")].status}", want: `^True$`, again: true},
		{name: "scale to zero", args: "scale deployment/on-demand --replicas=0", want: `scaled`},
	})
	h.eventually("an idle node is removed", func(ctx context.Context) error { return h.nodesOnDemand(ctx, 0) })
	h.eventually("only the instance of the pool is left", h.oneInstance)

	scaleUp := []command{{name: "scale up", args: "scale deployment/on-demand --replicas=1", want: `scaled`}}
	runAll(t, h.kubeconfig, scaleUp)
	h.eventually("the pod gets another node", func(ctx context.Context) error { return h.nodesOnDemand(ctx, 1) })
	enabled := h.hc.Spec.AutoNode
	h.change(func(hc *hyperv1.HostedCluster) { hc.Spec.AutoNode = nil })
	h.eventually("without spec.autoNode, the node is drained and its instance terminated", func(ctx context.Context) error {
		if err := h.management.Get(ctx, key(h.hc), h.hc); err != nil {
			return err
		}
		if c := meta.FindStatusCondition(h.hc.Status.Conditions, hyperv1.AutoNodeEnabled); c != nil {
			return fmt.Errorf("condition %s is %s: %s", c.Type, c.Status, c.Message)
		}
		return h.oneInstance(ctx)
	})
	h.change(func(hc *hyperv1.HostedCluster) { hc.Spec.AutoNode = enabled })
	h.waitForCondition(hyperv1.AutoNodeEnabled, "True")
	h.eventually("the pending pod gets a node again", func(ctx context.Context) error { return h.nodesOnDemand(ctx, 1) })
}

// onDemand is a Deployment with a pod that runs only on nodes on demand.
func onDemand(image string) string {
	return strings.ReplaceAll(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: on-demand}
spec:
  selector: {matchLabels: {app: on-demand}}
  template:
    metadata: {labels: {app: on-demand}}
    spec:
      terminationGracePeriodSeconds: 0
      nodeSelector: {karpenter.sh/nodepool: default}
      containers:
      - name: pause
        image: IMAGE
        resources: {requests: {cpu: 200m}}
`, "IMAGE", image)
}

// nodesOnDemand returns an error unless the status counts that many.
func (h *hosted) nodesOnDemand(ctx context.Context, want int32) error {
	if err := h.management.Get(ctx, key(h.hc), h.hc); err != nil {
		return err
	}
	n := h.hc.Status.AutoNode
	if n == nil || ptr.Deref(n.NodeCount, 0) != want || ptr.Deref(n.NodeClaimCount, 0) != want {
		return fmt.Errorf("status.autoNode is %+v, want %d nodes", n, want)
	}
	return nil
}

// rootVolumesOnDemand fails the test unless the only volume of each node on demand is the root volume of the EC2NodeClass. With
// another device than the image's root device, it would be an additional volume.
func (h *hosted) rootVolumesOnDemand() {
	h.t.Helper()
	out, err := h.ec2().DescribeInstances(h.t.Context(), &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{
		{Name: aws.String("tag-key"), Values: []string{"karpenter.sh/nodepool"}}, {Name: aws.String("instance-state-name"), Values: []string{"running"}},
	}})
	h.must(err)
	found := 0
	for _, r := range out.Reservations {
		for _, i := range r.Instances {
			found++
			if v := h.rootVolume(i); aws.ToInt32(v.Size) != 120 {
				h.t.Errorf("the root volume of instance %s has %d GiB, want 120", *i.InstanceId, aws.ToInt32(v.Size))
			}
		}
	}
	if found == 0 {
		h.t.Error("there is no instance of Karpenter")
	}
}

func (h *hosted) oneInstance(ctx context.Context) error {
	left, err := on.AWS.Leftovers(ctx, h.customer.Account)
	instances := slices.DeleteFunc(left, func(r string) bool { return !strings.HasPrefix(r, "instance ") })
	if err == nil && len(instances) != 1 {
		return fmt.Errorf("account %s has %v", h.customer.Account, instances)
	}
	return err
}
