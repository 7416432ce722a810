//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
	"github.com/hosted-control-planes/hypershift/test/lab/images"
	"github.com/hosted-control-planes/hypershift/test/privilege"
)

// A phase is a part of a scenario. It begins in the state of the previous one.
type phase struct {
	name string
	run  func(*testing.T, *hosted)
}

// runPhases runs phases until one fails, because the next one would fail for the same reason.
func (h *hosted) runPhases(t *testing.T, phases ...phase) {
	for _, p := range phases {
		ok := t.Run(p.name, func(t *testing.T) {
			in := *h
			in.t = t
			p.run(t, &in)
		})
		if !ok {
			return
		}
	}
}

// TestNodePools runs pools of one cluster side by side, each in the phases of its life. Then the controllers crash.
func TestNodePools(t *testing.T) {
	begin(t)
	h := newHostedForPools(t, "pools")
	h.create()
	h.must(h.management.Create(t.Context(), h.poolOfTwo("a")))
	h.available()
	sideBySide := func(t *testing.T, h *hosted) {
		for name, life := range map[string][]phase{
			"changed": {
				{"it is scaled", scaled},
				{"labels and taints reach the nodes that are there", changedInPlace},
				{"another instance type replaces the machines", replaced},
				{"while it is paused nothing happens", paused},
				{"AWS has no machine left", noCapacity},
				{"it scales itself", scalesItself},
				{"it is deleted", deleted},
				{"with OnDelete, only deleted machines are replaced", replacedOnDelete},
			},
			"repaired": {
				{"a machine that was terminated is replaced", terminated},
				{"a node that fails is replaced", failed},
				{"a pool of an older release is upgraded", upgraded},
				{"nodes two minor versions older than the API server join", oldestNodes},
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				h.runPhases(t, life...)
			})
		}
	}
	h.runPhases(t,
		phase{"its machines are what was asked for", machinesAsAskedFor},
		phase{"pools side by side", sideBySide},
		phase{"the controllers of machines crash", controllersCrash},
		phase{"no permission was missing", permitted},
	)
}

// newHostedForPools prepares a hosted cluster with machines that can join.
func newHostedForPools(t *testing.T, name string) *hosted {
	t.Helper()
	h := newHosted(t, name, on.Versions[0])
	h.hc.Spec.Platform.AWS.EndpointAccess = hyperv1.PublicAndPrivate
	return h
}

// poolOfTwo is a NodePool with two machines that are replaced when they fail.
func (h *hosted) poolOfTwo(name string) *hyperv1.NodePool {
	np := h.nodePool(name, 2)
	np.Spec.Management.AutoRepair = true
	np.Spec.NodeDrainTimeout = &metav1.Duration{Duration: 20 * time.Second}
	np.Spec.Platform.AWS.RootVolume = &hyperv1.Volume{Size: 32, Type: "gp3"}
	return np
}

func machinesAsAskedFor(t *testing.T, h *hosted) {
	h.eventually("two machines exist, and are nodes", func(context.Context) error { return h.healthy("a", 2) })
	instances, err := h.instances("a")
	h.must(err)
	group, err := h.workerSecurityGroup()
	h.must(err)
	for _, i := range instances {
		volume := h.rootVolume(i)
		for what, pair := range map[string][2]string{
			"image":                   {aws.ToString(i.ImageId), awsemulator.ImageAMD64Ubuntu},
			"type":                    {string(i.InstanceType), "m5.large"},
			"subnet":                  {aws.ToString(i.SubnetId), h.customer.Subnets[0].ID},
			"security group":          {aws.ToString(i.SecurityGroups[0].GroupId), group},
			"profile":                 {aws.ToString(i.IamInstanceProfile.Arn), "arn:aws:iam::" + h.customer.Account + ":instance-profile/" + h.customer.InstanceProfile},
			"metadata tokens":         {string(i.MetadataOptions.HttpTokens), string(ec2types.HttpTokensStateRequired)},
			"root volume":             {fmt.Sprint(*volume.Size, " ", volume.VolumeType), "32 gp3"},
			"tag of the cluster":      {tag(i.Tags, "kubernetes.io/cluster/"+h.hc.Spec.InfraID), "owned"},
			"tag of the user":         {tag(i.Tags, "team"), "example"},
			"user's tag on the disk":  {tag(volume.Tags, "team"), "example"},
			"key pair":                {aws.ToString(i.KeyName), ""},
			"public address":          {aws.ToString(i.PublicIpAddress), ""},
			"user data, its first 12": {h.userData(i)[:12], "MIME-Version"},
		} {
			if pair[0] != pair[1] {
				t.Errorf("instance %s: %s is %q, not %q", *i.InstanceId, what, pair[0], pair[1])
			}
		}
	}
	h.eventually("no bootstrap token is left", func(context.Context) error {
		list := &corev1.SecretList{}
		if err := h.management.List(t.Context(), list, client.InNamespace(h.namespace())); err != nil {
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
func (h *hosted) workerSecurityGroup() (string, error) {
	hcp := &hyperv1.HostedControlPlane{}
	if err := h.management.Get(h.t.Context(), client.ObjectKey{Namespace: h.namespace(), Name: h.hc.Name}, hcp); err != nil {
		return "", err
	}
	if hcp.Status.Platform == nil || hcp.Status.Platform.AWS == nil || hcp.Status.Platform.AWS.DefaultWorkerSecurityGroupID == "" {
		return "", errors.New("the workers have no security group")
	}
	return hcp.Status.Platform.AWS.DefaultWorkerSecurityGroupID, nil
}

func scaled(t *testing.T, h *hosted) {
	before := h.ids("a")
	h.scale("a", 3)
	h.eventually("a third machine joins", func(context.Context) error { return h.healthy("a", 3) })
	for _, id := range before {
		if !slices.Contains(h.ids("a"), id) {
			t.Errorf("instance %s has gone", id)
		}
	}
	selector, err := labels.Parse(h.pool("a").Status.Selector)
	h.must(err)
	machines := &clusterv1.MachineList{}
	h.must(h.management.List(t.Context(), machines, client.InNamespace(h.namespace()), client.MatchingLabelsSelector{Selector: selector}))
	if len(machines.Items) != 3 {
		t.Errorf("the selector %q finds %d machines, not 3", selector, len(machines.Items))
	}
	h.scale("a", 1)
	h.eventually("two machines are removed", func(context.Context) error { return h.healthy("a", 1) })
}

func changedInPlace(t *testing.T, h *hosted) {
	before := h.ids("a")
	h.updatePool("a", func(np *hyperv1.NodePool) {
		np.Spec.NodeLabels = map[string]hyperv1.LabelValue{"team": "blue"}
		np.Spec.Taints = []hyperv1.Taint{{Key: "dedicated", Value: "blue", Effect: hyperv1.TaintEffect(corev1.TaintEffectNoSchedule)}}
	})
	h.eventually("the node has the labels and taints", func(context.Context) error {
		nodes, err := h.nodesOf("a")
		if err != nil {
			return err
		}
		for _, n := range nodes {
			tainted := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == "dedicated" && t.Value == "blue" })
			if n.Labels["team"] != "blue" || !tainted {
				return fmt.Errorf("node %s has labels %v and taints %v", n.Name, n.Labels, n.Spec.Taints)
			}
		}
		return h.healthy("a", 1)
	})
	if after := h.ids("a"); !slices.Equal(before, after) {
		t.Errorf("the instances were %v and are %v", before, after)
	}
}

func replaced(t *testing.T, h *hosted) {
	h.updatePool("a", func(np *hyperv1.NodePool) { np.Spec.Platform.AWS.InstanceType = "m5.xlarge" })
	h.eventually("the machine is of the new type", func(context.Context) error {
		return errors.Join(h.ofType("a", "m5.xlarge"), h.healthy("a", 1), poolConditions(h.pool("a"), map[string]corev1.ConditionStatus{
			hyperv1.NodePoolUpdatingPlatformMachineTemplateCondition: corev1.ConditionFalse,
		}))
	})
}

func paused(t *testing.T, h *hosted) {
	h.updatePool("a", func(np *hyperv1.NodePool) { np.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("true")) })
	h.eventually("it is paused", func(context.Context) error {
		return poolConditions(h.pool("a"), map[string]corev1.ConditionStatus{hyperv1.NodePoolReconciliationActiveCondition: corev1.ConditionFalse})
	})
	before := h.ids("a")
	h.scale("a", 2)
	h.eventually("the change is observed, and the pool is still paused", func(context.Context) error {
		return poolConditions(h.pool("a"), map[string]corev1.ConditionStatus{hyperv1.NodePoolReconciliationActiveCondition: corev1.ConditionFalse})
	})
	if after := h.ids("a"); !slices.Equal(before, after) {
		t.Errorf("the instances were %v and are %v", before, after)
	}
	h.updatePool("a", func(np *hyperv1.NodePool) { np.Spec.PausedUntil = nil })
	h.eventually("the change is made", func(context.Context) error { return h.healthy("a", 2) })
}

func terminated(t *testing.T, h *hosted) {
	np := h.poolOfTwo("repaired")
	np.Annotations = map[string]string{hyperv1.MachineHealthCheckTimeoutAnnotation: "30s"}
	h.must(h.management.Create(t.Context(), np))
	h.eventually("two machines exist", func(context.Context) error { return h.healthy("repaired", 2) })
	victim := h.ids("repaired")[0]
	h.terminate(victim)
	h.eventually("another machine replaces it", func(context.Context) error {
		if slices.Contains(h.ids("repaired"), victim) {
			return errors.New("it is still there")
		}
		return h.healthy("repaired", 2)
	})
}

func failed(t *testing.T, h *hosted) {
	before := h.ids("repaired")
	// The instance keeps running in AWS, and its kubelet is gone.
	h.must(on.KillMachine(t.Context(), before[0]))
	h.eventually("another machine replaces it", func(context.Context) error {
		if slices.Equal(before, h.ids("repaired")) {
			return errors.New("the instances are the same")
		}
		return h.healthy("repaired", 2)
	})
	h.must(h.management.Delete(t.Context(), h.pool("repaired")))
}

// noCapacity is about an instance type that no other pool uses.
func noCapacity(t *testing.T, h *hosted) {
	h.must(on.AWS.Fault(t.Context(), awsemulator.NoCapacity(h.customer.Account, "m5.xlarge", h.customer.Subnets[0].Zone)))
	h.scale("a", 3)
	h.eventually("a condition of the pool has the error message of AWS", func(context.Context) error {
		got := poolCondition(h.pool("a"), hyperv1.NodePoolAllMachinesReadyCondition)
		if got.Status != corev1.ConditionFalse || !strings.Contains(got.Message, "do not have sufficient m5.xlarge capacity") {
			return fmt.Errorf("AllMachinesReady is %+v", got)
		}
		return nil
	})
	h.must(on.AWS.Forgive(t.Context(), h.customer.Account))
	h.eventually("with capacity again, it is created", func(context.Context) error { return h.healthy("a", 3) })
}

func scalesItself(t *testing.T, h *hosted) {
	h.updatePool("a", func(np *hyperv1.NodePool) {
		np.Spec.Replicas = nil
		np.Spec.AutoScaling = &hyperv1.NodePoolAutoScaling{Min: ptr.To[int32](0), Max: 2}
	})
	h.eventually("the number of replicas is within its bounds", func(context.Context) error { return h.healthy("a", 2) })
	md := &clusterv1.MachineDeployment{}
	h.must(h.management.Get(t.Context(), client.ObjectKey{Namespace: h.namespace(), Name: "a"}, md))
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
	h.must(h.management.Patch(t.Context(), md, client.MergeFrom(before)))
	h.eventually("the replicas of the autoscaler are kept", func(context.Context) error { return h.healthy("a", 1) })
}

// upgraded starts with the machine image of the older release, and ends with the image of the cluster's release.
func upgraded(t *testing.T, h *hosted) {
	older := release(h.t, on.Versions[1])
	np := h.nodePool("b", 1)
	np.Spec.Release.Image = older
	h.must(h.management.Create(t.Context(), np))
	h.eventually("an instance is made from the image of the older release", func(context.Context) error { return h.imageIs("b", 1, awsemulator.ImageAMD64Older) })
	h.updatePool("b", func(np *hyperv1.NodePool) { np.Spec.Release.Image = h.hc.Spec.Release.Image })
	h.eventually("it runs the version of its cluster", func(context.Context) error {
		return errors.Join(h.runs("b", on.Versions[0], awsemulator.ImageAMD64Ubuntu), h.healthy("b", 1), poolConditions(h.pool("b"), map[string]corev1.ConditionStatus{
			hyperv1.NodePoolSupportedVersionSkewCondition: corev1.ConditionTrue,
			hyperv1.NodePoolUpdatingVersionCondition:      corev1.ConditionFalse,
		}))
	})
	h.updatePool("b", func(np *hyperv1.NodePool) { np.Spec.Release.Image = older })
	h.eventually("the downgrade is refused, and reported", func(context.Context) error {
		return errors.Join(h.runs("b", on.Versions[0], awsemulator.ImageAMD64Ubuntu), poolConditions(h.pool("b"), map[string]corev1.ConditionStatus{
			hyperv1.NodePoolSupportedVersionSkewCondition: corev1.ConditionFalse,
		}))
	})
}

// oldestNodes joins a node whose kubelet is two minor versions older than the API server. Its logs come through the tunnel.
func oldestNodes(t *testing.T, h *hosted) {
	np := h.nodePool("oldest", 1)
	np.Spec.Release.Image = release(h.t, images.OldestNodes)
	h.must(h.management.Create(t.Context(), np))
	h.eventually("it runs its own version", func(context.Context) error {
		return errors.Join(h.runs("oldest", images.OldestNodes, awsemulator.ImageAMD64Older), h.healthy("oldest", 1), poolConditions(h.pool("oldest"), map[string]corev1.ConditionStatus{
			hyperv1.NodePoolSupportedVersionSkewCondition: corev1.ConditionTrue,
		}))
	})
	nodes, err := h.nodesOf("oldest")
	h.must(err)
	h.eventually("the API server reaches its kubelet", func(ctx context.Context) error {
		pods, err := on.Kubectl(ctx, h.kubeconfig, "", "get", "pods", "-n", "kube-system", "-l", "k8s-app=kube-proxy", "-o", "name", "--field-selector", "spec.nodeName="+nodes[0].Name)
		if err != nil {
			return err
		}
		logs, err := on.Kubectl(ctx, h.kubeconfig, "", "logs", "-n", "kube-system", strings.TrimSpace(pods))
		if err == nil && logs == "" {
			err = errors.New("kube-proxy has no logs")
		}
		return err
	})
	h.must(h.management.Delete(t.Context(), np))
}

// runs returns an error unless a pool and all its instances and nodes have a version.
func (h *hosted) runs(pool, version, image string) error {
	if np := h.pool(pool); np.Status.Version != version {
		return fmt.Errorf("status.version is %q, not %q", np.Status.Version, version)
	}
	nodes, err := h.nodesOf(pool)
	if err != nil {
		return err
	}
	if err := h.imageIs(pool, len(nodes), image); err != nil {
		return err
	}
	for _, n := range nodes {
		if n.Status.NodeInfo.KubeletVersion != "v"+version {
			return fmt.Errorf("the kubelet of node %s is %s, not v%s", n.Name, n.Status.NodeInfo.KubeletVersion, version)
		}
	}
	return nil
}

// imageIs returns an error unless a pool has that many instances, all made from an image.
func (h *hosted) imageIs(pool string, count int, image string) error {
	instances, err := h.instances(pool)
	if err == nil && len(instances) != count {
		err = fmt.Errorf("there are %d instances, not %d", len(instances), count)
	}
	for _, i := range instances {
		if aws.ToString(i.ImageId) != image {
			err = fmt.Errorf("instance %s was made from %s, not %s", *i.InstanceId, *i.ImageId, image)
		}
	}
	return err
}

func deleted(t *testing.T, h *hosted) {
	h.must(h.management.Delete(t.Context(), h.pool("a")))
	h.eventually("neither the pool nor an instance is left", func(context.Context) error {
		np := &hyperv1.NodePool{}
		if err := h.management.Get(t.Context(), client.ObjectKey{Namespace: h.hc.Namespace, Name: "a"}, np); !apierrors.IsNotFound(err) {
			return cmp.Or(err, fmt.Errorf("it is still there: %+v", poolCondition(np, hyperv1.NodePoolDeletingCondition)))
		}
		if ids := h.ids("a"); len(ids) > 0 {
			return fmt.Errorf("instances %v are left", ids)
		}
		return nil
	})
}

// permitted fails the test if Kubernetes or AWS refused a request of the programs that manage machines. The audit log of the
// lab contains writes only; a program with refused reads does not work.
func permitted(t *testing.T, h *hosted) {
	root, err := pinned.Root()
	h.must(err)
	accounts, err := privilege.ServiceAccounts(root)
	h.must(err)
	accounts = slices.DeleteFunc(accounts, func(a privilege.Holder) bool { return a.Name != names.ClusterAPI })
	requests, err := privilege.Audit(filepath.Join(on.Dir, "logs", cluster.AuditLog), accounts)
	h.must(err)
	roles, err := privilege.Roles(root)
	h.must(err)
	roles = slices.DeleteFunc(roles, func(r privilege.Holder) bool { return r.Name != privilege.NodePoolManagement })
	calls, err := on.AWS.Calls(t.Context())
	h.must(err)
	for _, account := range accounts {
		if len(requests.Counts[account.Name]) == 0 {
			t.Errorf("the audit log has no request of %s", account.Name)
		}
	}
	h.must(errors.Join(privilege.InKubernetes(accounts, requests).Refused(), privilege.InAWS(roles, privilege.Calls(calls, roles)).Refused()))
}
