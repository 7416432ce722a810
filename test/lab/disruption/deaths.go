package disruption

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
)

func (d *Disruptor) killAPIServers(ctx context.Context, key client.ObjectKey) (string, error) {
	return d.replacePods(ctx, key, names.KubeAPIServer, killed)
}

func (d *Disruptor) killEtcd(ctx context.Context, key client.ObjectKey) (string, error) {
	return d.replacePods(ctx, key, names.Etcd, killed)
}

// drainEtcd deletes every member in turn as the eviction API does: with the grace period of its pod.
func (d *Disruptor) drainEtcd(ctx context.Context, key client.ObjectKey) (string, error) {
	return d.replacePods(ctx, key, names.Etcd, nil)
}

func (d *Disruptor) killRouters(ctx context.Context, key client.ObjectKey) (string, error) {
	return d.replacePods(ctx, key, names.Router, killed)
}

// killed is the grace period of a pod that is killed without a graceful shutdown.
var killed = ptr.To[int64](0)

// replacePods deletes every pod of a component in turn, with the grace period in seconds or, if that is nil, with its own, and waits each
// time until it is replaced.
func (d *Disruptor) replacePods(ctx context.Context, key client.ObjectKey, name string, grace *int64) (string, error) {
	before, err := d.pods(ctx, key, name)
	if err != nil {
		return "", err
	}
	for _, victim := range before {
		if err := d.Management.Delete(ctx, &victim, &client.DeleteOptions{GracePeriodSeconds: grace, Preconditions: &metav1.Preconditions{UID: &victim.UID}}); err != nil {
			return "", fmt.Errorf("deleting pod %s: %w", victim.Name, err)
		}
		err := WaitFor(ctx, "pod "+victim.Name+" is replaced", func(ctx context.Context) error {
			now, err := d.pods(ctx, key, name)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(now, func(p corev1.Pod) bool { return p.UID == victim.UID }) {
				return errors.New("it still exists")
			}
			if got := readyPods(now); got != len(before) {
				return fmt.Errorf("%d of %d pods are ready", got, len(before))
			}
			return d.podsReady(ctx, controlPlane(key))
		})
		if err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d replaced in turn", len(before)), nil
}

// pods returns the pods of a component of the control plane, of which there must be at least one.
func (d *Disruptor) pods(ctx context.Context, key client.ObjectKey, name string) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	if err := d.Management.List(ctx, list, client.InNamespace(controlPlane(key)), client.MatchingLabels{component.ComponentLabel: name}); err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return nil, fmt.Errorf("%s of %s: %w", name, key, errNoPods)
	}
	return list.Items, nil
}

func readyPods(pods []corev1.Pod) (n int) {
	for _, p := range pods {
		if p.DeletionTimestamp.IsZero() && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}) {
			n++
		}
	}
	return n
}

// killMachine cuts the power of the machine of an API server.
func (d *Disruptor) killMachine(ctx context.Context, key client.ObjectKey) (string, error) {
	pods, err := d.pods(ctx, key, names.KubeAPIServer)
	if err != nil {
		return "", err
	}
	return d.turnOff(ctx, key, []string{pods[0].Spec.NodeName}, d.Machines.KillMachine)
}

// stopMachine stops the instance of the machine of an API server, so that the cloud provider knows that it is off.
func (d *Disruptor) stopMachine(ctx context.Context, key client.ObjectKey) (string, error) {
	pods, err := d.pods(ctx, key, names.KubeAPIServer)
	if err != nil {
		return "", err
	}
	return d.turnOff(ctx, key, []string{pods[0].Spec.NodeName}, d.Machines.ForceStopMachine)
}

// killZone cuts the power of all machines in the zone of an API server: of the zone with most machines, if there are several.
func (d *Disruptor) killZone(ctx context.Context, key client.ObjectKey) (string, error) {
	pods, err := d.pods(ctx, key, names.KubeAPIServer)
	if err != nil {
		return "", err
	}
	status, err := d.Machines.Status(ctx)
	if err != nil {
		return "", err
	}
	var machines []string
	name := ""
	for _, p := range pods {
		if zone, in := zoneOf(status, p.Spec.NodeName); len(in) > len(machines) {
			name, machines = zone, in
		}
	}
	if len(machines) == 0 || len(machines) == len(status.Machines) {
		return "", fmt.Errorf("zone %q of %s has %d of %d machines", name, key, len(machines), len(status.Machines))
	}
	text, err := d.turnOff(ctx, key, machines, d.Machines.KillMachine)
	return name + ": " + text, err
}

// turnOff turns machines off for some time, and waits until their nodes and the control plane have recovered.
func (d *Disruptor) turnOff(ctx context.Context, key client.ObjectKey, machines []string, end func(ctx context.Context, name string) error) (text string, err error) {
	apps, err := d.appsOn(ctx, key, machines)
	if err != nil {
		return "", err
	}
	defer func() { // other clusters need them too
		ctx := context.WithoutCancel(ctx)
		for _, name := range machines {
			err = errors.Join(err, d.Machines.StartMachine(ctx, name))
		}
		for _, name := range machines {
			ctx, cancel := context.WithTimeout(ctx, Timeout)
			err = errors.Join(err, d.Machines.WaitForNode(ctx, name))
			cancel()
		}
		if err == nil {
			err = d.Complete(ctx, key)
		}
	}()
	began := time.Now()
	for _, name := range machines {
		if err := end(ctx, name); err != nil {
			return "", fmt.Errorf("turning machine %s off: %w", name, err)
		}
	}
	err = WaitFor(ctx, "the nodes are lost", func(ctx context.Context) error {
		for _, name := range machines {
			node := &corev1.Node{}
			if err := d.Management.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
				return err
			}
			if cluster.Ready(node) {
				return fmt.Errorf("node %s is still ready", name)
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	lost := time.Since(began)
	if err := pause(ctx, d.Off-lost); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s with %s of this cluster; their nodes count as lost after %.0f s", strings.Join(machines, " and "), apps, lost.Seconds()), nil
}

// appsOn lists the pods of the control plane on these machines. There must be one.
func (d *Disruptor) appsOn(ctx context.Context, key client.ObjectKey, machines []string) (string, error) {
	list := &corev1.PodList{}
	if err := d.Management.List(ctx, list, client.InNamespace(controlPlane(key))); err != nil {
		return "", err
	}
	var apps []string
	for _, p := range list.Items {
		if slices.Contains(machines, p.Spec.NodeName) {
			apps = append(apps, cmp.Or(p.Labels[component.ComponentLabel], p.Labels["app"]))
		}
	}
	if len(apps) == 0 {
		return "", fmt.Errorf("on %v: %w", machines, errNoPods)
	}
	slices.Sort(apps)
	return strings.Join(apps, ", "), nil
}

// zoneOf returns the zone of a node, and the machines in it.
func zoneOf(status *cluster.Status, node string) (zone string, machines []string) {
	for _, m := range status.Machines {
		if m.Name == node {
			zone = m.Zone
		}
	}
	for _, m := range status.Machines {
		if zone != "" && m.Zone == zone {
			machines = append(machines, m.Name)
		}
	}
	slices.Sort(machines)
	return zone, machines
}

var errNoPods = errors.New("there is no such pod")
