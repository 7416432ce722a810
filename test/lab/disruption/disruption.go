// Package disruption makes things happen to the control planes of a lab: upgrades, changes, and the deaths of their parts. Each waits until its results
// are complete.
//
//	disruption.go  Disruptor, the list of events, and when a control plane is complete
//	deaths.go      pods, machines and zones die
//	changes.go     upgrade, rotations, change of the access mode
package disruption

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
)

const (
	// Timeout is the timeout of one event.
	Timeout = 10 * time.Minute
	// rotationTimeout is the timeout of a rotation of certificates: each of its two steps takes at least five minutes, and the first one
	// waits for nodes, which poll every five minutes.
	rotationTimeout = 30 * time.Minute
)

// A Disruptor makes events in a management cluster.
type Disruptor struct {
	Management client.Client
	Machines   Machines
	// Release returns the payload of a version.
	Release func(ctx context.Context, version string) (string, error)
	// Older and Newer are the versions of an upgrade.
	Older, Newer string
	// Off is how long machines stay off.
	Off time.Duration
}

// Machines turns machines of the management cluster off and on.
type Machines interface {
	Status(ctx context.Context) (*cluster.Status, error)
	KillMachine(ctx context.Context, name string) error
	ForceStopMachine(ctx context.Context, name string) error
	StartMachine(ctx context.Context, name string) error
	WaitForNode(ctx context.Context, name string) error
}

// An Event happens to the control plane of a HostedCluster. Happen returns a description after it has happened and the control plane is
// complete again.
type Event struct {
	Name   string
	Happen func(*Disruptor, context.Context, client.ObjectKey) (string, error)
}

// The events.
var (
	Upgrade             = Event{"upgrade", (*Disruptor).upgrade}
	APIServerDeath      = Event{"death of an API server's pod", (*Disruptor).killAPIServers}
	EtcdDeath           = Event{"death of an etcd member", (*Disruptor).killEtcd}
	EtcdDrain           = Event{"drain of an etcd member", (*Disruptor).drainEtcd}
	RouterDeath         = Event{"death of a router", (*Disruptor).killRouters}
	MachineDeath        = Event{"death of a management machine", (*Disruptor).killMachine}
	MachineStop         = Event{"stop of a management machine", (*Disruptor).stopMachine}
	ZoneDeath           = Event{"death of a zone", (*Disruptor).killZone}
	CertificateRotation = Event{"rotation of all certificates", (*Disruptor).rotateCertificates}
	AccessChange        = Event{"change of the access mode", (*Disruptor).changeAccess}
	KeyRotation         = Event{"rotation of encryption keys", (*Disruptor).rotateKeys}
)

// Change changes the spec or the annotations of a HostedCluster, and returns it.
func (d *Disruptor) Change(ctx context.Context, key client.ObjectKey, edit func(*hyperv1.HostedCluster)) (*hyperv1.HostedCluster, error) {
	hc := &hyperv1.HostedCluster{}
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := d.Management.Get(ctx, key, hc); err != nil {
			return err
		}
		edit(hc)
		return d.Management.Update(ctx, hc)
	})
	if err != nil {
		return nil, fmt.Errorf("changing HostedCluster %s: %w", key, err)
	}
	return hc, nil
}

// WaitFor waits for an event, and returns the last error of the check when the time is over. It checks seldom, because the machine is measured
// meanwhile.
func WaitFor(ctx context.Context, what string, check func(context.Context) error) error {
	return waitWithin(ctx, Timeout, what, check)
}

func waitWithin(ctx context.Context, timeout time.Duration, what string, check func(context.Context) error) error {
	deadline := time.Now().Add(timeout)
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: timeout after %s: %w", what, timeout, err)
		}
		if err := pause(ctx, 250*time.Millisecond); err != nil {
			return err
		}
	}
}

// Complete waits until a HostedCluster is available and completely rolled out, and all pods of its control plane are ready.
func (d *Disruptor) Complete(ctx context.Context, key client.ObjectKey) error {
	return WaitFor(ctx, "the control plane is complete", func(ctx context.Context) error {
		hc := &hyperv1.HostedCluster{}
		if err := d.Management.Get(ctx, key, hc); err != nil {
			return err
		}
		for condition, want := range map[string]metav1.ConditionStatus{
			hyperv1.HostedClusterAvailable: metav1.ConditionTrue, hyperv1.HostedClusterProgressing: metav1.ConditionFalse,
			hyperv1.ConfigOperatorReconciliationSucceeded: metav1.ConditionTrue,
		} {
			c := meta.FindStatusCondition(hc.Status.Conditions, condition)
			if c == nil || c.Status != want {
				return fmt.Errorf("condition %s is %+v", condition, c)
			}
		}
		return d.podsReady(ctx, controlPlane(key))
	})
}

// podsReady returns an error unless all pods of every workload in a namespace are current and ready.
func (d *Disruptor) podsReady(ctx context.Context, namespace string) error {
	deployments, sets := &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}
	if err := errors.Join(d.Management.List(ctx, deployments, client.InNamespace(namespace)), d.Management.List(ctx, sets, client.InNamespace(namespace))); err != nil {
		return err
	}
	if len(deployments.Items) == 0 || len(sets.Items) == 0 {
		return fmt.Errorf("namespace %s has %d Deployments and %d StatefulSets", namespace, len(deployments.Items), len(sets.Items))
	}
	for _, d := range deployments.Items {
		want, s := ptr.Deref(d.Spec.Replicas, 1), d.Status
		if s.ObservedGeneration != d.Generation || s.ReadyReplicas != want || s.UpdatedReplicas != want || s.Replicas != want {
			return fmt.Errorf("Deployment %s has %d of %d pods ready", d.Name, s.ReadyReplicas, want)
		}
	}
	for _, d := range sets.Items {
		want, s := ptr.Deref(d.Spec.Replicas, 1), d.Status
		if s.ObservedGeneration != d.Generation || s.ReadyReplicas != want || s.CurrentRevision != s.UpdateRevision {
			return fmt.Errorf("StatefulSet %s has %d of %d pods ready", d.Name, s.ReadyReplicas, want)
		}
	}
	return nil
}

func controlPlane(hc client.ObjectKey) string {
	return names.ControlPlaneNamespace(hc.Namespace, hc.Name)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
