package nodepool

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodeconfig"
	"github.com/hosted-control-planes/hypershift/internal/awsx/instancetypes"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// scope has the facts of one reconcile. gather fills it, except for fields that name another function.
type scope struct {
	np *hyperv1.NodePool
	// status writes the status and finalizers.
	status *reconcile.Writer[*hyperv1.NodePool]
	// hc is nil if the HostedCluster does not exist.
	hc *hyperv1.HostedCluster
	// hcp is nil if the HostedControlPlane does not exist.
	hcp *hyperv1.HostedControlPlane
	// controlPlane is the name of the control plane's namespace.
	controlPlane string
	// paused is true during a pause, which ends after pauseLeft if that is not 0.
	paused    bool
	pauseLeft time.Duration
	children

	// release is the release of the nodes. Filled by resolveRelease.
	release *release.Release
	// control is the release of the control plane, or nil if it is not known. Filled by checkVersion.
	control *release.Release
	// programs are those that the machines install, or nil. Filled by resolveRelease.
	programs *hyperv1.NodePrograms
	// ami is the image of the machines, and format that of the user data that it reads. Filled by resolveImage.
	ami    string
	format hyperv1.UserDataFormat
	// instanceType is nil if it is not known. Filled by checkInstanceType.
	instanceType *instancetypes.Type
	// securityGroup is the security group of all workers. It is "" if it does not exist yet and the pool has groups of its
	// own. Filled by resolveSecurityGroup.
	securityGroup string
	// inputs are what user data is made from. Its Pool is filled by resolveConfig, its Cluster by resolveClusterWide.
	inputs nodeconfig.Inputs
	// health defines when a machine is broken. Filled by resolveHealthCheck.
	health health
	// repair is what is done about machines that do not join. Filled by replaceLate.
	repair repairPlan
	// template and bootstrap are the names of the current templates, and nodeConfig that of the Secret of the latter. Filled
	// by the steps that apply them.
	template, bootstrap, nodeConfig string
}

// children are the objects of the pool in the namespace of the control plane.
type children struct {
	// namespace is nil if it does not exist or belongs to another cluster.
	namespace *corev1.Namespace
	// cluster is the Cluster of Cluster API, or nil if it does not exist yet.
	cluster     *clusterv1.Cluster
	deployment  *clusterv1.MachineDeployment
	healthCheck *clusterv1.MachineHealthCheck
	machineSets []clusterv1.MachineSet
	machines    []clusterv1.Machine
	awsMachines []infrav1.AWSMachine
	templates   []infrav1.AWSMachineTemplate
	bootstraps  []hyperv1.NodeBootstrapTemplate
	// autoscaler is the Deployment of the cluster autoscaler, or nil if it does not exist. It is read if the pool has
	// autoScaling.
	autoscaler *appsv1.Deployment
}

func (s *scope) dying() bool { return !s.np.DeletionTimestamp.IsZero() }

// aws returns the AWS part of the spec. It is not nil once the configuration has been validated.
func (s *scope) aws() *hyperv1.AWSNodePoolPlatform { return s.np.Spec.Platform.AWS }

// region returns the region of the machines.
func (s *scope) region() string { return s.hc.Spec.Platform.AWS.Region }

// arch returns the architecture of the nodes. It is amd64 in objects that were written without the default of the CRD.
func (s *scope) arch() hyperv1.Architecture {
	if s.np.Spec.Arch == "" {
		return hyperv1.ArchitectureAMD64
	}
	return s.np.Spec.Arch
}

func poolKey(np *hyperv1.NodePool) string { return np.Namespace + "/" + np.Name }

// labelsOf selects all objects of a pool.
func labelsOf(np *hyperv1.NodePool) client.MatchingLabels {
	return client.MatchingLabels{hyperv1.NodePoolLabel: np.Name}
}

// gather reads the objects of the pool.
func (r *Reconciler) gather(ctx context.Context, np *hyperv1.NodePool) (*scope, error) {
	s := &scope{np: np, controlPlane: names.ControlPlaneNamespace(np.Namespace, np.Spec.ClusterName)}
	s.paused, s.pauseLeft = np.Spec.PausedUntil.Paused(r.Clock.Now())
	hc := &hyperv1.HostedCluster{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: np.Namespace, Name: np.Spec.ClusterName}, hc)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("getting HostedCluster %s: %w", np.Spec.ClusterName, err)
	}
	if err == nil {
		s.hc = hc
	}
	if r.missing != "" {
		return s, nil
	}
	return s, gatherChildren(ctx, r.Client, s)
}

// gatherChildren reads the objects in the namespace of the control plane again.
func gatherChildren(ctx context.Context, c client.Reader, s *scope) error {
	s.children = children{}
	ns := &corev1.Namespace{}
	err := c.Get(ctx, client.ObjectKey{Name: s.controlPlane}, ns)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("getting namespace %s: %w", s.controlPlane, err)
	}
	if err != nil || ns.Annotations[hyperv1.HostedClusterAnnotation] != s.np.Namespace+"/"+s.np.Spec.ClusterName {
		return nil // the namespaces of two clusters may have the same name, and so may their pools
	}
	s.namespace = ns
	if s.hc != nil {
		cluster := &clusterv1.Cluster{}
		err := c.Get(ctx, client.ObjectKey{Namespace: s.controlPlane, Name: s.hc.Spec.InfraID}, cluster)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("getting Cluster %s: %w", s.hc.Spec.InfraID, err)
		}
		if err == nil {
			s.cluster = cluster
		}
	}
	hcp := &hyperv1.HostedControlPlane{}
	switch err := c.Get(ctx, client.ObjectKey{Namespace: s.controlPlane, Name: s.np.Spec.ClusterName}, hcp); {
	case err == nil:
		s.hcp = hcp
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("getting HostedControlPlane %s: %w", s.np.Spec.ClusterName, err)
	}
	if s.np.Spec.AutoScaling != nil {
		autoscaler := &appsv1.Deployment{}
		err := c.Get(ctx, client.ObjectKey{Namespace: s.controlPlane, Name: names.ClusterAutoscaler}, autoscaler)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("getting Deployment %s: %w", names.ClusterAutoscaler, err)
		}
		if err == nil {
			s.autoscaler = autoscaler
		}
	}
	if s.deployment, err = get(ctx, c, s, &clusterv1.MachineDeployment{}); err != nil {
		return err
	}
	if s.healthCheck, err = get(ctx, c, s, &clusterv1.MachineHealthCheck{}); err != nil {
		return err
	}
	var (
		sets       clusterv1.MachineSetList
		machines   clusterv1.MachineList
		instances  infrav1.AWSMachineList
		templates  infrav1.AWSMachineTemplateList
		bootstraps hyperv1.NodeBootstrapTemplateList
	)
	for _, list := range []client.ObjectList{&sets, &machines, &instances, &templates, &bootstraps} {
		if err := c.List(ctx, list, client.InNamespace(s.controlPlane), labelsOf(s.np)); err != nil {
			return fmt.Errorf("listing %T of pool %s: %w", list, s.np.Name, err)
		}
	}
	s.machineSets, s.machines, s.awsMachines = sets.Items, machines.Items, instances.Items
	s.templates, s.bootstraps = templates.Items, bootstraps.Items
	return nil
}

// get returns the object with the name of the pool, or nil if it does not exist or belongs to another pool.
func get[T client.Object](ctx context.Context, c client.Reader, s *scope, obj T) (none T, err error) {
	err = c.Get(ctx, client.ObjectKey{Namespace: s.controlPlane, Name: s.np.Name}, obj)
	if apierrors.IsNotFound(err) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("getting %T %s: %w", obj, s.np.Name, err)
	}
	if obj.GetAnnotations()[hyperv1.NodePoolAnnotation] != poolKey(s.np) {
		return none, nil
	}
	return obj, nil
}
