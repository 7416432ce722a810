package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/fixture/accounts"
	"github.com/hosted-control-planes/hypershift/test/lab/hosting"
)

// labBench runs benchmarks on a lab.
type labBench struct {
	*hosting.Hosting
	management client.Client
	kube       kubernetes.Interface
	own        *ownRequests
	made       int
	// warm is true once the machines have the images.
	warm bool
}

func newLabBench(h *hosting.Hosting) (*labBench, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), hyperv1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	own := &ownRequests{}
	config := own.count(h.Config)
	management, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &labBench{Hosting: h, management: management, kube: kube, own: own}, nil
}

// labLife is the result of one round, in seconds and MiB.
type labLife struct {
	ready, rolledOut, podsGone, gone float64
	writes                           tally
	cpu, memory, idle, operator      float64
	memoryByApp, idleByApp           string
	// requests are those of others than the bench until all is rolled out; watches and leases are those that remain. They are of one cluster.
	requests, watches, leases float64
	// manifests is the time of as many control planes of hand-written manifests.
	manifests float64
}

// labLives are the results of several rounds.
type labLives struct {
	ready, rolledOut, writes, podsGone, gone []float64
	last                                     tally // writes
	// wake is the time from a sleeping control plane to /readyz.
	wake []float64
	// manifests and processes are the times of the floors.
	manifests, processes []float64
}

func (l *labLives) add(one labLife) {
	l.ready, l.rolledOut = append(l.ready, one.ready), append(l.rolledOut, one.rolledOut)
	l.writes, l.last = append(l.writes, float64(one.writes.total)), one.writes
	l.podsGone, l.gone = append(l.podsGone, one.podsGone), append(l.gone, one.gone)
}

// prepared is a cluster that apply creates, in the account of a customer.
type prepared struct {
	key      client.ObjectKey
	customer *accounts.Customer
	apply    func() error
}

// prepare makes the account of the next cluster.
func (b *labBench) prepare(ctx context.Context, availability hyperv1.AvailabilityPolicy) (*prepared, error) {
	return b.prepareVersion(ctx, availability, b.Versions[0], nil)
}

// prepareVersion does so for a version of Kubernetes. The edits replace texts of the sample.
func (b *labBench) prepareVersion(ctx context.Context, availability hyperv1.AvailabilityPolicy, version string, edits map[string]string) (*prepared, error) {
	b.made++
	name := fmt.Sprintf("bench-%d", b.made)
	customer, err := b.NewCustomer(ctx, name, name+"-x7k2p", version)
	if err != nil {
		return nil, err
	}
	text, err := b.Sample(name, availability)
	if err != nil {
		return nil, err
	}
	if text, err = hosting.Replace(text, edits); err != nil {
		return nil, err
	}
	apply := func() error { return b.Apply(ctx, customer.Variables, text) }
	return &prepared{key: client.ObjectKey{Namespace: "clusters", Name: name}, customer: customer, apply: apply}, nil
}

// live creates n clusters, waits until they are complete, measures them for that time, and deletes them.
func (b *labBench) live(ctx context.Context, n int, availability hyperv1.AvailabilityPolicy, watch time.Duration) (l labLife, err error) {
	var all []client.ObjectKey
	var manifests []func() error
	for range n {
		prepared, err := b.prepare(ctx, availability)
		if err != nil {
			return l, err
		}
		manifests = append(manifests, prepared.apply)
		all = append(all, prepared.key)
	}
	var observed *observation
	if *timelines && b.warm {
		if observed, err = b.observe(ctx, all, *eventsFile); err != nil {
			return l, err
		}
		defer func() { err = errors.Join(err, observed.end(os.Stdout)) }() // a start that fails is printed, too
	}
	before, err := b.traffic(ctx)
	if err != nil {
		return l, err
	}
	began := time.Now()
	for _, apply := range manifests {
		if err := apply(); err != nil {
			return l, err
		}
	}
	observed.mark("applied")
	for _, hc := range all {
		if err := b.awaitAPIServer(ctx, hc); err != nil {
			return l, fmt.Errorf("%s: %w", hc, err)
		}
	}
	l.ready = time.Since(began).Seconds()
	observed.served()
	for _, hc := range all {
		if err := untilSeen(ctx, 5*time.Minute, func(ctx context.Context) (bool, error) { return b.rolledOut(ctx, hc), nil }); err != nil {
			return l, fmt.Errorf("%s: %w", hc, err)
		}
	}
	l.rolledOut = time.Since(began).Seconds()
	observed.mark("rolled out")
	after, err := b.traffic(ctx)
	if err != nil {
		return l, err
	}
	l.requests = (after.requests - before.requests) / float64(n)
	if err := observed.end(os.Stdout); err != nil {
		return l, err
	}
	if l.writes, err = b.writes(all, began); err != nil {
		return l, err
	}
	if watch > 0 {
		if err := b.lookAt(ctx, all, watch, &l); err != nil {
			return l, err
		}
		if after, err = b.traffic(ctx); err != nil {
			return l, err
		}
		l.watches = (after.watches - before.watches) / float64(n)
		if l.leases, err = b.renewedLeases(ctx, all[0]); err != nil {
			return l, err
		}
	}
	if err := b.end(ctx, all, &l); err != nil {
		return l, err
	}
	fmt.Fprintf(os.Stderr, "%d at once: %+v\n", n, l)
	return l, nil
}

// wake creates a cluster, lets it sleep, and returns the seconds from its annotation until /readyz answers its user.
func (b *labBench) wake(ctx context.Context) (seconds float64, err error) {
	prepared, err := b.prepare(ctx, hyperv1.SingleReplica)
	if err != nil {
		return 0, err
	}
	if err := prepared.apply(); err != nil {
		return 0, err
	}
	annotate := func(value string) error {
		hc := &hyperv1.HostedCluster{}
		hc.Namespace, hc.Name = prepared.key.Namespace, prepared.key.Name
		return b.management.Patch(ctx, hc, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+hyperv1.SleepAnnotation+`":"`+value+`"}}}`)))
	}
	for _, until := range []func() error{
		func() error {
			return untilSeen(ctx, 5*time.Minute, func(ctx context.Context) (bool, error) { return b.rolledOut(ctx, prepared.key), nil })
		},
		func() error { return annotate("true") },
		func() error {
			return untilSeen(ctx, 5*time.Minute, func(ctx context.Context) (bool, error) {
				hc := &hyperv1.HostedCluster{}
				err := b.management.Get(ctx, prepared.key, hc)
				return err == nil && meta.IsStatusConditionTrue(hc.Status.Conditions, hyperv1.HostedClusterAsleep), nil
			})
		},
	} {
		if err := until(); err != nil {
			return 0, fmt.Errorf("%s: %w", prepared.key, err)
		}
	}
	began := time.Now()
	if err := annotate("false"); err != nil {
		return 0, err
	}
	if err := b.awaitAPIServer(ctx, prepared.key); err != nil {
		return 0, err
	}
	seconds = time.Since(began).Seconds()
	return seconds, b.end(ctx, []client.ObjectKey{prepared.key}, &labLife{})
}

// end deletes the clusters and waits.
func (b *labBench) end(ctx context.Context, all []client.ObjectKey, l *labLife) error {
	began := time.Now()
	for _, hc := range all {
		obj := &hyperv1.HostedCluster{}
		obj.Namespace, obj.Name = hc.Namespace, hc.Name
		if err := b.management.Delete(ctx, obj); err != nil {
			return fmt.Errorf("deleting %s: %w", hc, err)
		}
	}
	for _, hc := range all {
		err := untilSeen(ctx, 5*time.Minute, func(ctx context.Context) (bool, error) {
			pods := &corev1.PodList{}
			err := b.management.List(ctx, pods, client.InNamespace(controlPlane(hc)))
			for _, p := range pods.Items {
				if p.Labels["app"] != names.ControlPlaneOperator {
					return false, nil
				}
			}
			return err == nil, nil
		})
		if err != nil {
			return fmt.Errorf("the pods of %s: %w", hc, err)
		}
	}
	l.podsGone = time.Since(began).Seconds()
	for _, hc := range all {
		err := untilSeen(ctx, 5*time.Minute, func(ctx context.Context) (bool, error) {
			return apierrors.IsNotFound(b.management.Get(ctx, hc, &hyperv1.HostedCluster{})), nil
		})
		if err != nil {
			return fmt.Errorf("deleting %s: %w", hc, err)
		}
	}
	l.gone = time.Since(began).Seconds()
	return nil
}

func controlPlane(hc client.ObjectKey) string {
	return names.ControlPlaneNamespace(hc.Namespace, hc.Name)
}

// awaitAPIServer waits until /readyz of a cluster answers 200 to its user. The kubeconfig of the user is read once.
func (b *labBench) awaitAPIServer(ctx context.Context, hc client.ObjectKey) error {
	var config *rest.Config
	var unpublished error
	err := untilSeen(ctx, 5*time.Minute, func(ctx context.Context) (bool, error) {
		if config == nil {
			var path string
			if path, unpublished = b.AdminKubeconfig(ctx, hc); unpublished != nil {
				return false, nil
			}
			var err error
			if config, err = clientcmd.BuildConfigFromFlags("", path); err != nil {
				return false, fmt.Errorf("reading %s: %w", path, err)
			}
			config.Timeout = time.Second
		}
		return ready(config), nil
	})
	if err != nil {
		return errors.Join(err, unpublished)
	}
	return nil
}

// rolledOut reports whether all components of a cluster are complete.
func (b *labBench) rolledOut(ctx context.Context, hc client.ObjectKey) bool {
	obj := &hyperv1.HostedCluster{}
	if err := b.management.Get(ctx, hc, obj); err != nil {
		return false
	}
	c := meta.FindStatusCondition(obj.Status.Conditions, hyperv1.HostedClusterProgressing)
	return meta.IsStatusConditionTrue(obj.Status.Conditions, hyperv1.HostedClusterAvailable) && c != nil && c.Status == "False" &&
		meta.IsStatusConditionTrue(obj.Status.Conditions, hyperv1.ConfigOperatorReconciliationSucceeded)
}
