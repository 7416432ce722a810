package integration

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// The phases in the life of a pool share one cluster, because an API server is expensive; each phase begins in the state
// of the previous one.
func TestNodePoolLifecycle(t *testing.T) {
	c := newCluster(t, hyperv1.Private)
	c.start()
	c.startMachines()
	c.pool("a", 0)
	for _, chapter := range []struct {
		name string
		tell func(*testing.T, *cluster)
	}{
		{"its machines are what was asked for", machinesAsAskedFor},
		{"it is scaled", scaled},
		{"labels and taints reach the nodes that are there", changedInPlace},
		{"another instance type replaces the machines", replaced},
		{"while it is paused nothing happens", paused},
		{"a machine that was killed is replaced", killed},
		{"a node that is ill is replaced", ill},
		{"AWS has no machine left", noCapacity},
		{"it scales itself", scalesItself},
		{"it is deleted", deleted},
		{"a pool of an older release is upgraded", upgraded},
	} {
		if !t.Run(chapter.name, func(t *testing.T) { chapter.tell(t, c) }) {
			return // the next phase would fail for the same reason
		}
	}
}

func machinesAsAskedFor(t *testing.T, c *cluster) {
	within(t.Context(), t, making, "two machines exist, and are nodes", func() error { return c.healthy("a", 2) })
	instances, err := c.instances("a")
	c.must(err)
	group, err := c.workerSecurityGroup()
	c.must(err)
	for _, i := range instances {
		volume := c.rootVolume(i)
		for what, pair := range map[string][2]string{
			"image":                   {aws.ToString(i.ImageId), awsemulator.ImageAMD64},
			"type":                    {string(i.InstanceType), "m5.large"},
			"subnet":                  {aws.ToString(i.SubnetId), c.customer.Subnets[0].ID},
			"security group":          {aws.ToString(i.SecurityGroups[0].GroupId), group},
			"profile":                 {aws.ToString(i.IamInstanceProfile.Arn), "arn:aws:iam::" + c.customer.Account + ":instance-profile/" + c.customer.InstanceProfile},
			"metadata tokens":         {string(i.MetadataOptions.HttpTokens), string(ec2types.HttpTokensStateRequired)},
			"root volume":             {fmt.Sprint(*volume.Size, " ", volume.VolumeType), "32 gp3"},
			"tag of the cluster":      {tag(i.Tags, "kubernetes.io/cluster/"+c.hc.Spec.InfraID), "owned"},
			"tag of the user":         {tag(i.Tags, "team"), "example"},
			"user's tag on the disk":  {tag(volume.Tags, "team"), "example"},
			"key pair":                {aws.ToString(i.KeyName), ""},
			"public address":          {aws.ToString(i.PublicIpAddress), ""},
			"user data, its first 12": {c.userData(i)[:12], `{"ignition":`},
		} {
			if pair[0] != pair[1] {
				t.Errorf("instance %s: %s is %q, not %q", *i.InstanceId, what, pair[0], pair[1])
			}
		}
	}
	within(t.Context(), t, patience, "no bootstrap token is left", func() error {
		list := &corev1.SecretList{}
		if err := kube.List(t.Context(), list, client.InNamespace(c.controlPlane())); err != nil {
			return err
		}
		for _, s := range list.Items {
			if s.Type == corev1.SecretTypeBootstrapToken {
				return fmt.Errorf("there is Secret %s", s.Name)
			}
		}
		return nil
	})
}

// workerSecurityGroup is the security group that the control-plane-operator has created for all workers.
func (c *cluster) workerSecurityGroup() (string, error) {
	hcp := &hyperv1.HostedControlPlane{}
	if err := kube.Get(c.t.Context(), client.ObjectKey{Namespace: c.controlPlane(), Name: c.hc.Name}, hcp); err != nil {
		return "", err
	}
	if hcp.Status.Platform == nil || hcp.Status.Platform.AWS == nil || hcp.Status.Platform.AWS.DefaultWorkerSecurityGroupID == "" {
		return "", errors.New("the workers have no security group")
	}
	return hcp.Status.Platform.AWS.DefaultWorkerSecurityGroupID, nil
}

func scaled(t *testing.T, c *cluster) {
	before := c.ids("a")
	c.scale("a", 3)
	within(t.Context(), t, making, "a third machine joins", func() error { return c.healthy("a", 3) })
	for _, id := range before {
		if !slices.Contains(c.ids("a"), id) {
			t.Errorf("instance %s has gone", id)
		}
	}
	selector, err := labels.Parse(c.nodePool("a").Status.Selector)
	c.must(err)
	machines := &clusterv1.MachineList{}
	c.must(kube.List(t.Context(), machines, client.InNamespace(c.controlPlane()), client.MatchingLabelsSelector{Selector: selector}))
	if len(machines.Items) != 3 {
		t.Errorf("the selector %q finds %d machines, not 3", selector, len(machines.Items))
	}
	c.scale("a", 1)
	within(t.Context(), t, making, "two machines are removed", func() error { return c.healthy("a", 1) })
}

func changedInPlace(t *testing.T, c *cluster) {
	before := c.ids("a")
	c.updatePool("a", func(np *hyperv1.NodePool) {
		np.Spec.NodeLabels = map[string]hyperv1.LabelValue{"team": "blue"}
		np.Spec.Taints = []hyperv1.Taint{{Key: "dedicated", Value: "blue", Effect: hyperv1.TaintEffect(corev1.TaintEffectNoSchedule)}}
	})
	eventually(t.Context(), t, "the node has the labels and taints", func() error {
		nodes, err := c.nodesOf("a")
		if err != nil {
			return err
		}
		for _, n := range nodes {
			tainted := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == "dedicated" && t.Value == "blue" })
			if n.Labels["team"] != "blue" || !tainted {
				return fmt.Errorf("node %s has labels %v and taints %v", n.Name, n.Labels, n.Spec.Taints)
			}
		}
		return c.healthy("a", 1)
	})
	if after := c.ids("a"); !slices.Equal(before, after) {
		t.Errorf("the instances were %v and are %v", before, after)
	}
}

func replaced(t *testing.T, c *cluster) {
	c.updatePool("a", func(np *hyperv1.NodePool) { np.Spec.Platform.AWS.InstanceType = "m5.xlarge" })
	within(t.Context(), t, making, "the machine is of the new type", func() error {
		return errors.Join(c.ofType("a", "m5.xlarge"), c.healthy("a", 1), conditionsAre(c.nodePool("a"), map[string]corev1.ConditionStatus{
			hyperv1.NodePoolUpdatingPlatformMachineTemplateCondition: corev1.ConditionFalse,
		}))
	})
}

func paused(t *testing.T, c *cluster) {
	c.updatePool("a", func(np *hyperv1.NodePool) { np.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("true")) })
	eventually(t.Context(), t, "it is paused", func() error {
		return conditionsAre(c.nodePool("a"), map[string]corev1.ConditionStatus{hyperv1.NodePoolReconciliationActiveCondition: corev1.ConditionFalse})
	})
	before := c.ids("a")
	c.scale("a", 2)
	eventually(t.Context(), t, "the change is observed, and the pool is still paused", func() error {
		return conditionsAre(c.nodePool("a"), map[string]corev1.ConditionStatus{hyperv1.NodePoolReconciliationActiveCondition: corev1.ConditionFalse})
	})
	if after := c.ids("a"); !slices.Equal(before, after) {
		t.Errorf("the instances were %v and are %v", before, after)
	}
	c.updatePool("a", func(np *hyperv1.NodePool) { np.Spec.PausedUntil = nil })
	within(t.Context(), t, making, "the change is made", func() error { return c.healthy("a", 2) })
}

func killed(t *testing.T, c *cluster) {
	victim := c.ids("a")[0]
	c.terminate(victim)
	within(t.Context(), t, making, "another machine replaces it", func() error {
		if slices.Contains(c.ids("a"), victim) {
			return errors.New("it is still there")
		}
		return c.healthy("a", 2)
	})
}

func ill(t *testing.T, c *cluster) {
	c.updatePool("a", func(np *hyperv1.NodePool) {
		np.Annotations = map[string]string{hyperv1.MachineHealthCheckTimeoutAnnotation: "2s"}
	})
	before := c.ids("a")
	nodes, err := c.nodesOf("a")
	c.must(err)
	c.must(c.machines.Nodes.NotReady(t.Context(), nodes[0].Name))
	within(t.Context(), t, making, "another machine replaces it", func() error {
		if slices.Equal(before, c.ids("a")) {
			return errors.New("the instances are the same")
		}
		return c.healthy("a", 2)
	})
}

func noCapacity(t *testing.T, c *cluster) {
	c.must(on.AWS.Fault(t.Context(), awsemulator.NoCapacity(c.customer.Account, "m5.xlarge", c.customer.Subnets[0].Zone)))
	c.scale("a", 3)
	within(t.Context(), t, making, "a condition of the pool has the error message of AWS", func() error {
		got := condition(c.nodePool("a"), hyperv1.NodePoolAllMachinesReadyCondition)
		if got.Status != corev1.ConditionFalse || !strings.Contains(got.Message, "do not have sufficient m5.xlarge capacity") {
			return fmt.Errorf("AllMachinesReady is %+v", got)
		}
		return nil
	})
	c.must(on.AWS.Forgive(t.Context(), c.customer.Account))
	within(t.Context(), t, making, "with capacity again, it is created", func() error { return c.healthy("a", 3) })
}

func scalesItself(t *testing.T, c *cluster) {
	c.updatePool("a", func(np *hyperv1.NodePool) {
		np.Spec.Replicas = nil
		np.Spec.AutoScaling = &hyperv1.NodePoolAutoScaling{Min: ptr.To[int32](0), Max: 2}
	})
	within(t.Context(), t, making, "the number of replicas is within its bounds", func() error { return c.healthy("a", 2) })
	md := &clusterv1.MachineDeployment{}
	c.must(kube.Get(t.Context(), client.ObjectKey{Namespace: c.controlPlane(), Name: "a"}, md))
	for annotation, want := range map[string]string{
		clusterv1.AutoscalerMinSizeAnnotation:                "0",
		clusterv1.AutoscalerMaxSizeAnnotation:                "2",
		"capacity.cluster-autoscaler.kubernetes.io/cpu":      "4",
		"capacity.cluster-autoscaler.kubernetes.io/memory":   "16384Mi",
		"capacity.cluster-autoscaler.kubernetes.io/taints":   "dedicated=blue:NoSchedule",
		"capacity.cluster-autoscaler.kubernetes.io/max-pods": "",
	} {
		if got := md.Annotations[annotation]; got != want {
			t.Errorf("annotation %s is %q, not %q", annotation, got, want)
		}
	}
	// The autoscaler sets these replicas.
	before := md.DeepCopy()
	md.Spec.Replicas = ptr.To[int32](1)
	c.must(kube.Patch(t.Context(), md, client.MergeFrom(before)))
	within(t.Context(), t, making, "the replicas of the autoscaler are kept", func() error { return c.healthy("a", 1) })
}

func upgraded(t *testing.T, c *cluster) {
	older, err := on.PushOlderRelease(t.Context())
	c.must(err)
	c.pool("b", 0, func(np *hyperv1.NodePool) {
		np.Spec.Release.Image, np.Spec.Replicas = older, ptr.To[int32](1)
	})
	within(t.Context(), t, making, "it runs the older release", func() error {
		return errors.Join(c.runs("b", "1.35.4", awsemulator.ImageAMD64Older), c.healthy("b", 1))
	})
	c.updatePool("b", func(np *hyperv1.NodePool) { np.Spec.Release.Image = c.hc.Spec.Release.Image })
	within(t.Context(), t, making, "it runs the version of its cluster", func() error {
		return errors.Join(c.runs("b", "1.36.3", awsemulator.ImageAMD64), c.healthy("b", 1), conditionsAre(c.nodePool("b"), map[string]corev1.ConditionStatus{
			hyperv1.NodePoolSupportedVersionSkewCondition: corev1.ConditionTrue,
			hyperv1.NodePoolUpdatingVersionCondition:      corev1.ConditionFalse,
		}))
	})
	c.updatePool("b", func(np *hyperv1.NodePool) { np.Spec.Release.Image = older })
	within(t.Context(), t, patience, "the downgrade is refused, and reported", func() error {
		return errors.Join(c.runs("b", "1.36.3", awsemulator.ImageAMD64), conditionsAre(c.nodePool("b"), map[string]corev1.ConditionStatus{
			hyperv1.NodePoolSupportedVersionSkewCondition: corev1.ConditionFalse,
		}))
	})
}

// runs returns an error unless a pool and all its instances and nodes have a version.
func (c *cluster) runs(pool, version, image string) error {
	if np := c.nodePool(pool); np.Status.Version != version {
		return fmt.Errorf("status.version is %q, not %q", np.Status.Version, version)
	}
	instances, err := c.instances(pool)
	if err != nil {
		return err
	}
	for _, i := range instances {
		if aws.ToString(i.ImageId) != image {
			return fmt.Errorf("instance %s was made from %s, not %s", *i.InstanceId, *i.ImageId, image)
		}
	}
	nodes, err := c.nodesOf(pool)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if n.Status.NodeInfo.KubeletVersion != "v"+version {
			return fmt.Errorf("the kubelet of node %s is %s, not v%s", n.Name, n.Status.NodeInfo.KubeletVersion, version)
		}
	}
	return nil
}

func deleted(t *testing.T, c *cluster) {
	c.must(kube.Delete(t.Context(), c.nodePool("a")))
	within(t.Context(), t, making, "neither the pool nor an instance is left", func() error {
		np := &hyperv1.NodePool{}
		if err := kube.Get(t.Context(), client.ObjectKey{Namespace: c.hc.Namespace, Name: "a"}, np); !apierrors.IsNotFound(err) {
			return cmp.Or(err, fmt.Errorf("it is still there: %+v", condition(np, hyperv1.NodePoolDeletingCondition)))
		}
		if ids := c.ids("a"); len(ids) > 0 {
			return fmt.Errorf("instances %v are left", ids)
		}
		return nil
	})
}
