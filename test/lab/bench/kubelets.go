package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/lab/hosting"
)

// settle is the time after which clusters count as idle.
const settle = 30 * time.Second

// lookAt measures the resources of the clusters.
func (b *labBench) lookAt(ctx context.Context, all []client.ObjectKey, watch time.Duration, l *labLife) error {
	first, err := b.usage(ctx)
	if err != nil {
		return err
	}
	l.cpu = first.of(all, "").cpu()
	if err := pause(ctx, settle); err != nil {
		return err
	}
	before, err := b.usage(ctx)
	if err != nil {
		return err
	}
	if err := pause(ctx, watch); err != nil {
		return err
	}
	after, err := b.usage(ctx)
	if err != nil {
		return err
	}
	l.idle, l.idleByApp = byApp(all, "%.2f", func(app string) float64 {
		return 100 * (after.of(all, app).cpu() - before.of(all, app).cpu()) / watch.Seconds()
	})
	l.memory, l.memoryByApp = byApp(all, "%.0f", func(app string) float64 { return after.of(all, app).memory() })
	l.operator = after.in(hosting.Namespace, "").memory()
	return nil
}

// rested are the pods of one control plane with workers at rest, by app: MiB, and percent of a core.
type rested struct {
	memory, cpu map[string]float64
	pods        int
}

// appsWithWorkers are the apps of a control plane with workers.
var appsWithWorkers = []string{names.KubeAPIServer, names.Etcd, names.KubeControllerManager, names.ClusterAPI, names.ControlPlaneOperator, names.Router}

// rest measures the pods of a control plane with workers for a minute, after one in which what came before ends.
func (b *labBench) rest(ctx context.Context, hc client.ObjectKey) (r rested, err error) {
	var usages [2]podUsages
	for i := range usages {
		if err := pause(ctx, time.Minute); err != nil {
			return r, err
		}
		if usages[i], err = b.usage(ctx); err != nil {
			return r, err
		}
	}
	r = rested{memory: map[string]float64{}, cpu: map[string]float64{}, pods: len(usages[1].in(controlPlane(hc), ""))}
	counted := 0
	for _, app := range appsWithWorkers {
		before, after := usages[0].in(controlPlane(hc), app), usages[1].in(controlPlane(hc), app)
		r.memory[app], r.cpu[app] = after.memory(), 100*(after.cpu()-before.cpu())/time.Minute.Seconds()
		counted += len(after)
	}
	if counted != r.pods {
		return r, fmt.Errorf("%s has %d pods, of which %d are expected", hc, r.pods, counted)
	}
	return r, nil
}

func (r rested) detail(format string, of map[string]float64) string {
	var parts []string
	for _, app := range appsWithWorkers {
		parts = append(parts, fmt.Sprintf("%s "+format, app, of[app]))
	}
	return strings.Join(parts, ", ")
}

func sum(of map[string]float64) (total float64) {
	for _, value := range of {
		total += value
	}
	return total
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// podUsage are the metrics of a pod, from its kubelet.
// https://kubernetes.io/docs/reference/instrumentation/node-metrics
type podUsage struct {
	PodRef struct {
		Name, Namespace string
	} `json:"podRef"`
	CPU struct {
		Used uint64 `json:"usageCoreNanoSeconds"`
	} `json:"cpu"`
	Memory struct {
		RSS uint64 `json:"rssBytes"`
	} `json:"memory"`
}

type podUsages []podUsage

// usage reads the metrics of all kubelets.
func (b *labBench) usage(ctx context.Context) (podUsages, error) {
	nodes := &corev1.NodeList{}
	if err := b.management.List(ctx, nodes); err != nil {
		return nil, err
	}
	var all podUsages
	for _, node := range nodes.Items {
		text, err := b.kube.CoreV1().RESTClient().Get().Resource("nodes").Name(node.Name).SubResource("proxy").Suffix("stats/summary").DoRaw(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading the metrics of the kubelet on %s: %w", node.Name, err)
		}
		var summary struct {
			Pods podUsages `json:"pods"`
		}
		if err := json.Unmarshal(text, &summary); err != nil {
			return nil, fmt.Errorf("reading the metrics of the kubelet on %s: %w", node.Name, err)
		}
		all = append(all, summary.Pods...)
	}
	return all, nil
}

// of returns the pods of an app of these clusters, or with "" all pods.
func (u podUsages) of(all []client.ObjectKey, app string) (found podUsages) {
	for _, hc := range all {
		found = append(found, u.in(controlPlane(hc), app)...)
	}
	return found
}

// in returns the pods of an app in a namespace, or with "" all pods.
func (u podUsages) in(namespace, app string) (found podUsages) {
	for _, p := range u {
		if p.PodRef.Namespace == namespace && (app == "" || strings.HasPrefix(p.PodRef.Name, app+"-")) {
			found = append(found, p)
		}
	}
	return found
}

// cpu is the CPU time of the pods, in seconds.
func (u podUsages) cpu() (seconds float64) {
	for _, p := range u {
		seconds += float64(p.CPU.Used) / 1e9
	}
	return seconds
}

// memory is the memory of the pods, in MiB.
func (u podUsages) memory() (mib float64) {
	for _, p := range u {
		mib += float64(p.Memory.RSS) / (1 << 20)
	}
	return mib
}

// byApp is the average of a resource per cluster, with its distribution over the apps.
func byApp(all []client.ObjectKey, format string, of func(app string) float64) (sum float64, text string) {
	var parts []string
	for _, app := range []string{names.KubeAPIServer, names.Etcd, names.KubeControllerManager, names.ControlPlaneOperator, names.Router} {
		its := of(app) / float64(len(all))
		sum += its
		parts = append(parts, fmt.Sprintf("%s "+format, app, its))
	}
	return sum, strings.Join(parts, ", ")
}
