package nodepool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1" //nolint:staticcheck // conditions of CAPA still have this type
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// capi plays Cluster API and its AWS provider, as far as a NodePool sees them:
// machines come, run a while later, and go.
type capi struct {
	client.Client
	// away says that they do not run.
	away bool
	// refuse is EC2's error for new instances, or "".
	refuse string
	// broken is true while instances run and do not become nodes.
	broken bool
	// heals is true if the cause for broken goes when a machine is deleted.
	heals bool
	// clock is the controller's clock.
	clock clock.PassiveClock
	// lost says that they go on for machines without a pool. Otherwise they are
	// there for as long as the cluster has one, so that a controller which releases
	// its machines too early leaks them.
	lost bool
	// stuck keeps instances from going.
	stuck bool
}

const awsMachineFinalizer = "awsmachine.infrastructure.cluster.x-k8s.io"

func (c *capi) pass(ctx context.Context) error {
	if c.away {
		return nil
	}
	var pools hyperv1.NodePoolList
	if err := c.List(ctx, &pools); err != nil || len(pools.Items) == 0 && !c.lost {
		return err
	}
	var mds clusterv1.MachineDeploymentList
	var sets clusterv1.MachineSetList
	var machines clusterv1.MachineList
	for _, l := range []client.ObjectList{&mds, &sets, &machines} {
		if err := c.List(ctx, l); err != nil {
			return err
		}
	}
	var errs []error
	for i := range machines.Items {
		errs = append(errs, c.machine(ctx, &machines.Items[i]))
	}
	for i := range sets.Items {
		errs = append(errs, c.set(ctx, &sets.Items[i], machines.Items))
	}
	for i := range mds.Items {
		errs = append(errs, c.deployment(ctx, &mds.Items[i], sets.Items, machines.Items))
	}
	return errors.Join(errs...)
}

func (c *capi) deployment(ctx context.Context, md *clusterv1.MachineDeployment, sets []clusterv1.MachineSet, machines []clusterv1.Machine) error {
	if md.Annotations[clusterv1.PausedAnnotation] != "" {
		return nil
	}
	var mine []*clusterv1.MachineSet
	for i := range sets {
		if metav1.IsControlledBy(&sets[i], md) {
			mine = append(mine, &sets[i])
		}
	}
	if !md.DeletionTimestamp.IsZero() {
		for _, set := range mine {
			if err := c.remove(ctx, set); err != nil {
				return err
			}
		}
		if len(mine) == 0 {
			return c.finalize(ctx, md, clusterv1.MachineDeploymentFinalizer, false)
		}
		return nil
	}
	if err := c.finalize(ctx, md, clusterv1.MachineDeploymentFinalizer, true); err != nil || md.Spec.Replicas == nil {
		return err
	}
	var current *clusterv1.MachineSet
	others := int32(0)
	for _, set := range mine {
		if set.Spec.Template.Spec.InfrastructureRef == md.Spec.Template.Spec.InfrastructureRef &&
			set.Spec.Template.Spec.Bootstrap.ConfigRef == md.Spec.Template.Spec.Bootstrap.ConfigRef {
			current = set
		} else {
			others += int32(len(of(set, machines)))
		}
	}
	if current == nil {
		return c.newSet(ctx, md)
	}
	want := *md.Spec.Replicas
	if md.Spec.Rollout.Strategy.Type == clusterv1.OnDeleteMachineDeploymentStrategyType {
		want = max(0, want-others)
	}
	if err := c.scale(ctx, current, want); err != nil {
		return err
	}
	for _, set := range mine {
		left := int32(len(of(set, machines)))
		switch {
		case set == current:
		case left == 0:
			if err := c.remove(ctx, set); err != nil {
				return err
			}
		case md.Spec.Rollout.Strategy.Type == clusterv1.OnDeleteMachineDeploymentStrategyType:
			// As the real one, it makes no machine in the place of an old one.
			if set.Annotations[clusterv1.DisableMachineCreateAnnotation] != "true" {
				set.Annotations[clusterv1.DisableMachineCreateAnnotation] = "true"
				if err := c.Update(ctx, set); err != nil {
					return err
				}
			}
			if err := c.scale(ctx, set, left); err != nil {
				return err
			}
		default:
			if err := c.scale(ctx, set, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *capi) newSet(ctx context.Context, md *clusterv1.MachineDeployment) error {
	spec := md.Spec.Template.Spec
	set := &clusterv1.MachineSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: md.Namespace, Name: fmt.Sprintf("%s-%s%s", md.Name, tail(spec.InfrastructureRef.Name), tail(spec.Bootstrap.ConfigRef.Name)),
			Labels: maps.Clone(md.Spec.Template.Labels), Annotations: maps.Clone(md.Annotations),
			Finalizers:      []string{clusterv1.MachineSetFinalizer},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(md, clusterv1.GroupVersion.WithKind("MachineDeployment"))},
		},
		Spec: clusterv1.MachineSetSpec{ClusterName: md.Spec.ClusterName, Replicas: ptr.To[int32](0), Template: *md.Spec.Template.DeepCopy()},
	}
	return c.Create(ctx, set)
}

func tail(name string) string { return name[len(name)-3:] }

func of(set *clusterv1.MachineSet, machines []clusterv1.Machine) (mine []*clusterv1.Machine) {
	for i := range machines {
		if metav1.IsControlledBy(&machines[i], set) {
			mine = append(mine, &machines[i])
		}
	}
	return mine
}

func (c *capi) scale(ctx context.Context, set *clusterv1.MachineSet, replicas int32) error {
	if *set.Spec.Replicas == replicas {
		return nil
	}
	set.Spec.Replicas = &replicas
	return c.Update(ctx, set)
}

func (c *capi) set(ctx context.Context, set *clusterv1.MachineSet, machines []clusterv1.Machine) error {
	mine := of(set, machines)
	want := int(*set.Spec.Replicas)
	if !set.DeletionTimestamp.IsZero() {
		want = 0
		if len(mine) == 0 {
			return c.finalize(ctx, set, clusterv1.MachineSetFinalizer, false)
		}
	}
	var alive []*clusterv1.Machine
	for _, m := range mine {
		if m.DeletionTimestamp.IsZero() {
			alive = append(alive, m)
		}
	}
	for len(alive) > want {
		if err := c.remove(ctx, alive[len(alive)-1]); err != nil {
			return err
		}
		alive = alive[:len(alive)-1]
	}
	if set.Annotations[clusterv1.DisableMachineCreateAnnotation] == "true" {
		want = 0
	}
	for n := 0; len(alive) < want; n++ {
		name := fmt.Sprintf("%s-%d", set.Name, n)
		if slices.ContainsFunc(mine, func(m *clusterv1.Machine) bool { return m.Name == name }) {
			continue
		}
		m, err := c.newMachine(ctx, set, name)
		if err != nil {
			return err
		}
		alive = append(alive, m)
	}
	return nil
}

func (c *capi) newMachine(ctx context.Context, set *clusterv1.MachineSet, name string) (*clusterv1.Machine, error) {
	template := &infrav1.AWSMachineTemplate{}
	from := set.Spec.Template.Spec.InfrastructureRef.Name
	if err := c.Get(ctx, client.ObjectKey{Namespace: set.Namespace, Name: from}, template); err != nil {
		return nil, fmt.Errorf("a MachineSet without its template: %w", err)
	}
	meta := metav1.ObjectMeta{
		Namespace: set.Namespace, Name: name, CreationTimestamp: metav1.NewTime(c.clock.Now()),
		Labels: maps.Clone(set.Spec.Template.Labels), Annotations: maps.Clone(set.Spec.Template.Annotations),
	}
	instance := &infrav1.AWSMachine{ObjectMeta: *meta.DeepCopy(), Spec: *template.Spec.Template.Spec.DeepCopy()}
	instance.Annotations[clusterv1.TemplateClonedFromNameAnnotation] = from
	instance.Finalizers = []string{awsMachineFinalizer}
	m := &clusterv1.Machine{ObjectMeta: meta, Spec: *set.Spec.Template.Spec.DeepCopy()}
	m.Finalizers = []string{clusterv1.MachineFinalizer}
	if c.refuse == "" {
		instance.Spec.InstanceID = ptr.To("i-" + name)
	}
	m.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, clusterv1.GroupVersion.WithKind("MachineSet"))}
	m.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "AWSMachine", Name: name}
	return m, errors.Join(c.Create(ctx, instance), c.Create(ctx, m))
}

func (c *capi) machine(ctx context.Context, m *clusterv1.Machine) error {
	instance := &infrav1.AWSMachine{}
	err := c.Get(ctx, client.ObjectKeyFromObject(m), instance)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if !m.DeletionTimestamp.IsZero() {
		if apierrors.IsNotFound(err) {
			c.broken = c.broken && !c.heals
			return c.finalize(ctx, m, clusterv1.MachineFinalizer, false)
		}
		if instance.DeletionTimestamp.IsZero() || c.stuck {
			return c.remove(ctx, instance)
		}
		return c.finalize(ctx, instance, awsMachineFinalizer, false)
	}
	if err != nil {
		return err
	}
	if c.refuse != "" {
		return c.say(ctx, m, instance, "False", "InstanceProvisionFailed", c.refuse)
	}
	if c.broken && !m.Status.NodeRef.IsDefined() {
		return c.boot(ctx, m, instance)
	}
	return c.say(ctx, m, instance, "True", "Ready", "")
}

// boot runs the instance of a machine that does not join.
func (c *capi) boot(ctx context.Context, m *clusterv1.Machine, instance *infrav1.AWSMachine) error {
	if len(m.Status.Conditions) > 0 && m.Status.Conditions[0].Status == "True" {
		return nil
	}
	instance.Status.Conditions = clusterv1beta1.Conditions{{Type: infrav1.InstanceReadyCondition, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(c.clock.Now())}}
	m.Status.Conditions = nil
	for name, status := range map[string]metav1.ConditionStatus{clusterv1.MachineInfrastructureReadyCondition: "True", clusterv1.MachineNodeHealthyCondition: "Unknown", clusterv1.MachineReadyCondition: "False", clusterv1.MachineAvailableCondition: "False"} {
		condition := metav1.Condition{Type: name, Status: status, Reason: "InspectionFailed", Message: "Waiting for a Node", LastTransitionTime: metav1.NewTime(c.clock.Now())}
		if status == "True" {
			m.Status.Conditions = append([]metav1.Condition{condition}, m.Status.Conditions...)
		} else {
			m.Status.Conditions = append(m.Status.Conditions, condition)
		}
	}
	return errors.Join(c.Status().Update(ctx, instance), c.Status().Update(ctx, m))
}

// say writes how a machine is.
func (c *capi) say(ctx context.Context, m *clusterv1.Machine, instance *infrav1.AWSMachine, status, reason, message string) error {
	if len(m.Status.Conditions) > 0 && m.Status.NodeRef.IsDefined() == (status == "True") && string(m.Status.Conditions[0].Status) == status && m.Status.Conditions[0].Message == message {
		return nil
	}
	instance.Status.Conditions = clusterv1beta1.Conditions{{Type: infrav1.InstanceReadyCondition, Status: corev1.ConditionStatus(status), Reason: reason, Message: message, LastTransitionTime: metav1.Now()}}
	m.Status.Conditions = nil
	for _, name := range []string{clusterv1.MachineInfrastructureReadyCondition, clusterv1.MachineNodeHealthyCondition, clusterv1.MachineReadyCondition, clusterv1.MachineAvailableCondition} {
		m.Status.Conditions = append(m.Status.Conditions, metav1.Condition{Type: name, Status: metav1.ConditionStatus(status), Reason: reason, Message: message, LastTransitionTime: metav1.Now()})
	}
	if status == "True" {
		m.Status.NodeRef.Name = m.Name
		m.Status.NodeInfo = &corev1.NodeSystemInfo{KubeletVersion: m.Spec.Version}
	}
	return errors.Join(c.Status().Update(ctx, instance), c.Status().Update(ctx, m))
}

func (c *capi) remove(ctx context.Context, obj client.Object) error {
	if !obj.GetDeletionTimestamp().IsZero() {
		return nil
	}
	return client.IgnoreNotFound(c.Delete(ctx, obj))
}

func (c *capi) finalize(ctx context.Context, obj client.Object, finalizer string, there bool) error {
	change := controllerutil.RemoveFinalizer
	if there {
		change = controllerutil.AddFinalizer
	}
	if !change(obj, finalizer) {
		return nil
	}
	return client.IgnoreNotFound(c.Update(ctx, obj))
}
