package requirements

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/clustersettings"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/machines"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/objects"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/validation"
)

// Configuration returns the errors of the spec, with the change to make. The CRD rejects most of them; the others were written before
// a rule existed, or need another object to detect. missing names the kinds that the management cluster does not have.
func Configuration(np *hyperv1.NodePool, hc *hyperv1.HostedCluster, missing string) error {
	if missing != "" {
		return reconcile.Block(hyperv1.UnsupportedClusterReason, "the management cluster has no kind %s, by which machines are made: install the CRDs of Cluster API, and start the hypershift-operator again", missing)
	}
	return blockOn(validation.NodePool(np, hc, defaultsOf(np)))
}

// UpgradeType accepts Replace. InPlace is reserved by the API: this operator replaces nodes.
func UpgradeType(np *hyperv1.NodePool) error {
	switch t := np.Spec.Management.UpgradeType; t {
	case hyperv1.UpgradeTypeReplace:
		return nil
	case hyperv1.UpgradeTypeInPlace:
		return reconcile.Block(hyperv1.NodePoolReservedReason,
			"management.upgradeType InPlace is kept for later, and no machines are made: create a pool with Replace (labels, taints, tags and timeouts are changed in place there too)")
	default:
		return reconcile.Block(hyperv1.NodePoolValidationFailedReason, "management.upgradeType is %q: create a pool with Replace", t)
	}
}

// Health reads when a machine is broken.
func Health(np *hyperv1.NodePool, hc *hyperv1.HostedCluster) (machines.Health, error) {
	health, errs := machines.HealthOf(np, hc)
	return health, blockOn(errs)
}

// SecurityGroup returns the id of the security group of all workers of the cluster, or "" if it does not exist yet. A pool with
// groups of its own does not wait for it: the group is added to its machines later.
func SecurityGroup(np *hyperv1.NodePool, hc *hyperv1.HostedCluster) (id string, err error) {
	if p := hc.Status.Platform; p != nil && p.AWS != nil {
		id = p.AWS.DefaultWorkerSecurityGroupID
	}
	if id == "" && len(np.Spec.Platform.AWS.SecurityGroups) == 0 {
		return "", reconcile.Wait(0, hyperv1.NodePoolDefaultSecurityGroupNotReadyReason,
			"waiting for the security group of the workers: see condition %s of HostedCluster %s", hyperv1.AWSDefaultSecurityGroupCreated, hc.Name)
	}
	return id, nil
}

// ControlPlaneNamespace waits for the namespace in which machines are created.
func ControlPlaneNamespace(p *objects.Pool) error {
	ns, hc := p.ControlPlaneNamespace, p.HostedCluster
	owned := ns != nil && ns.Labels[hyperv1.HostedClusterUIDLabel] == string(hc.UID) && ns.DeletionTimestamp.IsZero()
	if !owned || hc.Spec.InfraID == "" {
		return reconcile.Wait(0, hyperv1.WaitingForReason, "waiting for namespace %s of HostedCluster %s: see the conditions of the HostedCluster", p.Namespace, hc.Name)
	}
	return nil
}

// ClusterSettings gathers the cluster-wide node settings: proxy, trust bundle, SSH keys and networks.
func ClusterSettings(ctx context.Context, c client.Reader, p *objects.Pool) (nodeconfig.ClusterSettings, error) {
	if p.HostedControlPlane == nil {
		return nodeconfig.ClusterSettings{}, reconcile.Wait(0, hyperv1.WaitingForReason, "waiting for the control plane of HostedCluster %s: see its conditions", p.HostedCluster.Name)
	}
	return clustersettings.Gather(ctx, c, p.HostedControlPlane)
}

// blockOn returns nil without errors.
func blockOn(errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return reconcile.Block(validation.Reason(errs), "%s", validation.Message(errs))
}

// defaultsOf returns the inputs of validation in addition to the spec of a pool.
func defaultsOf(np *hyperv1.NodePool) validation.NodePoolDefaults {
	d := validation.NodePoolDefaults{Strategy: machines.Strategy(np), InstanceTags: 1}
	d.MaxSurge, d.MaxUnavailable = machines.RollingUpdate(np)
	if aws := np.Spec.Platform.AWS; aws != nil && machines.Market(aws.Placement) == hyperv1.MarketTypeSpot {
		d.InstanceTags++
	}
	return d
}
