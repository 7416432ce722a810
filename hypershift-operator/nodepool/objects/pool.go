package objects

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Pool is a NodePool with its objects. Read fills the fields after Namespace.
type Pool struct {
	NodePool *hyperv1.NodePool
	// HostedCluster is nil if it does not exist.
	HostedCluster *hyperv1.HostedCluster
	// Namespace is the name of the control plane namespace.
	Namespace string

	// ControlPlaneNamespace is nil if it does not exist or belongs to another cluster. All objects below are then missing.
	ControlPlaneNamespace *corev1.Namespace
	// HostedControlPlane is nil if it does not exist.
	HostedControlPlane *hyperv1.HostedControlPlane
	// Cluster is the Cluster of Cluster API, or nil if it does not exist yet.
	Cluster            *clusterv1.Cluster
	MachineDeployment  *clusterv1.MachineDeployment
	MachineHealthCheck *clusterv1.MachineHealthCheck
	MachineSets        []clusterv1.MachineSet
	Machines           []clusterv1.Machine
	AWSMachines        []infrav1.AWSMachine
	Templates          []infrav1.AWSMachineTemplate
	Bootstraps         []hyperv1.NodeBootstrapTemplate
	// Autoscaler is the cluster autoscaler's Deployment, or nil if it does not exist. It is read if the pool has autoScaling.
	Autoscaler *appsv1.Deployment
}

// Kinds returns the kinds that are created for a NodePool, by this operator or by Cluster API. All of these objects have
// hyperv1.NodePoolLabel; a cache needs to keep no other objects of these kinds.
func Kinds() []client.Object {
	return []client.Object{
		&clusterv1.MachineDeployment{}, &clusterv1.MachineSet{}, &clusterv1.Machine{}, &clusterv1.MachineHealthCheck{},
		&infrav1.AWSMachineTemplate{}, &infrav1.AWSMachine{}, &hyperv1.NodeBootstrapTemplate{},
	}
}

// Key returns the value of hyperv1.NodePoolAnnotation, namespace/name.
func Key(np *hyperv1.NodePool) string { return np.Namespace + "/" + np.Name }

// Dying reports whether the NodePool is being deleted.
func (p *Pool) Dying() bool { return !p.NodePool.DeletionTimestamp.IsZero() }

// AWS returns the AWS part of the spec. It is not nil once the configuration has been validated.
func (p *Pool) AWS() *hyperv1.AWSNodePoolPlatform { return p.NodePool.Spec.Platform.AWS }

// Region returns the region of the machines.
func (p *Pool) Region() string { return p.HostedCluster.Spec.Platform.AWS.Region }

// Arch returns the architecture of the nodes. It is amd64 in objects that were written without the default of the CRD.
func (p *Pool) Arch() hyperv1.Architecture {
	if p.NodePool.Spec.Arch == "" {
		return hyperv1.ArchitectureAMD64
	}
	return p.NodePool.Spec.Arch
}

// Identity returns the labels that select the machines of the pool.
func (p *Pool) Identity() map[string]string {
	return map[string]string{
		clusterv1.ClusterNameLabel:           p.HostedCluster.Spec.InfraID,
		clusterv1.MachineDeploymentNameLabel: p.NodePool.Name,
		hyperv1.NodePoolLabel:                p.NodePool.Name,
	}
}

// Read reads the objects in the control plane namespace, again if they were read before.
func (p *Pool) Read(ctx context.Context, c client.Reader) error {
	*p = Pool{NodePool: p.NodePool, HostedCluster: p.HostedCluster, Namespace: p.Namespace}
	ns := &corev1.Namespace{}
	err := c.Get(ctx, client.ObjectKey{Name: p.Namespace}, ns)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("getting namespace %s: %w", p.Namespace, err)
	}
	if err != nil || ns.Annotations[hyperv1.HostedClusterAnnotation] != p.NodePool.Namespace+"/"+p.NodePool.Spec.ClusterName {
		return nil // the namespaces of two clusters may have the same name, and so may their pools
	}
	p.ControlPlaneNamespace = ns
	if err := p.readControlPlane(ctx, c); err != nil {
		return err
	}
	return p.readMachines(ctx, c)
}

func (p *Pool) readControlPlane(ctx context.Context, c client.Reader) (err error) {
	at := func(name string) client.ObjectKey { return client.ObjectKey{Namespace: p.Namespace, Name: name} }
	if p.HostedCluster != nil {
		if p.Cluster, err = get(ctx, c, at(p.HostedCluster.Spec.InfraID), &clusterv1.Cluster{}); err != nil {
			return err
		}
	}
	if p.HostedControlPlane, err = get(ctx, c, at(p.NodePool.Spec.ClusterName), &hyperv1.HostedControlPlane{}); err != nil {
		return err
	}
	if p.NodePool.Spec.AutoScaling != nil {
		p.Autoscaler, err = get(ctx, c, at(names.ClusterAutoscaler), &appsv1.Deployment{})
	}
	return err
}

func (p *Pool) readMachines(ctx context.Context, c client.Reader) (err error) {
	if p.MachineDeployment, err = named(ctx, c, p, &clusterv1.MachineDeployment{}); err != nil {
		return err
	}
	if p.MachineHealthCheck, err = named(ctx, c, p, &clusterv1.MachineHealthCheck{}); err != nil {
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
		if err := c.List(ctx, list, client.InNamespace(p.Namespace), client.MatchingLabels{hyperv1.NodePoolLabel: p.NodePool.Name}); err != nil {
			return fmt.Errorf("listing %T of pool %s: %w", list, p.NodePool.Name, err)
		}
	}
	p.MachineSets, p.Machines, p.AWSMachines = sets.Items, machines.Items, instances.Items
	p.Templates, p.Bootstraps = templates.Items, bootstraps.Items
	return nil
}

// get returns an object, or nil if it does not exist.
func get[T client.Object](ctx context.Context, c client.Reader, key client.ObjectKey, obj T) (none T, err error) {
	err = c.Get(ctx, key, obj)
	if apierrors.IsNotFound(err) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("getting %T %s: %w", obj, key.Name, err)
	}
	return obj, nil
}

// named returns the object with the name of the pool, or nil if it does not exist or belongs to another pool.
func named[T client.Object](ctx context.Context, c client.Reader, p *Pool, obj T) (none T, err error) {
	if _, err := get(ctx, c, client.ObjectKey{Namespace: p.Namespace, Name: p.NodePool.Name}, obj); err != nil {
		return none, err
	}
	if obj.GetAnnotations()[hyperv1.NodePoolAnnotation] != Key(p.NodePool) { // an object that does not exist has no annotations
		return none, nil
	}
	return obj, nil
}

// Remaining counts the Machines, or the AWSMachines if there are more.
func (p *Pool) Remaining() int { return max(len(p.Machines), len(p.AWSMachines)) }

// Unowned returns the AWSMachines without a Machine.
func (p *Pool) Unowned() (out []*infrav1.AWSMachine) {
	owned := map[string]bool{}
	for i := range p.Machines {
		owned[p.Machines[i].Spec.InfrastructureRef.Name] = true
	}
	for i := range p.AWSMachines {
		if !owned[p.AWSMachines[i].Name] {
			out = append(out, &p.AWSMachines[i])
		}
	}
	return out
}

// AWSMachineOf returns the AWSMachine of a Machine, or nil if it does not exist.
func (p *Pool) AWSMachineOf(m *clusterv1.Machine) *infrav1.AWSMachine {
	for i := range p.AWSMachines {
		if p.AWSMachines[i].Name == m.Spec.InfrastructureRef.Name {
			return &p.AWSMachines[i]
		}
	}
	return nil
}

// MachineSetOf returns the MachineSet of a Machine, or nil if it does not exist.
func (p *Pool) MachineSetOf(m *clusterv1.Machine) *clusterv1.MachineSet {
	owner := metav1.GetControllerOf(m)
	if owner == nil {
		return nil
	}
	for i := range p.MachineSets {
		if p.MachineSets[i].Name == owner.Name {
			return &p.MachineSets[i]
		}
	}
	return nil
}

// Bootstrap returns the NodeBootstrapTemplate with a name, or nil if it does not exist.
func (p *Pool) Bootstrap(name string) *hyperv1.NodeBootstrapTemplate {
	for i := range p.Bootstraps {
		if p.Bootstraps[i].Name == name {
			return &p.Bootstraps[i]
		}
	}
	return nil
}
