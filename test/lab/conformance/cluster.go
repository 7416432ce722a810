package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/fixture/accounts"
	"github.com/hosted-control-planes/hypershift/test/lab/hosting"
)

// name is the name of the hosted cluster, and the first part of its NodePools' names.
const name = "conformance"

var key = client.ObjectKey{Namespace: "clusters", Name: name}

// patience is the timeout for a step in the life of the cluster, on a busy machine.
const patience = 10 * time.Minute

// hosted creates the cluster and its workers, unless an earlier run has kept them. It returns the kubeconfig of the cluster's user and the
// addresses of the host names in it.
func (r *run) hosted(ctx context.Context) (kubeconfig string, addresses map[string]string, err error) {
	management, err := r.management()
	if err != nil {
		return "", nil, err
	}
	hc := &hyperv1.HostedCluster{}
	switch err := management.Get(ctx, key, hc); {
	case apierrors.IsNotFound(err):
		if err := r.create(ctx, management); err != nil {
			return "", nil, err
		}
	case err != nil:
		return "", nil, fmt.Errorf("looking for the hosted cluster: %w", err)
	case versionOf(hc) != "" && versionOf(hc) != r.version:
		return "", nil, fmt.Errorf("there is a hosted cluster of another version: run make lab-down, or test %s", versionOf(hc))
	}
	if err := r.until(ctx, func(ctx context.Context) error { return connected(ctx, management, r.version) }); err != nil {
		return "", nil, fmt.Errorf("waiting for the hosted cluster: %w", err)
	}
	if err := r.until(ctx, r.nodesReady); err != nil {
		return "", nil, fmt.Errorf("waiting for the workers: %w", err)
	}
	r.report("the hosted cluster has %d workers in %d zones", r.workers, r.zones)
	return r.UserKubeconfig(ctx, key)
}

// management is a client of the management cluster.
func (r *run) management() (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), hyperv1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	c, err := client.New(r.Config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to the management cluster: %w", err)
	}
	return c, nil
}

// create applies the sample of a public cluster, with PrivateLink for the workers or for all, and NodePools.
func (r *run) create(ctx context.Context, management client.Client) error {
	customer, err := r.NewCustomer(ctx, name, name+"-x7k2p", r.version)
	if err != nil {
		return err
	}
	sample, err := r.Sample(name, r.availability)
	if err != nil {
		return err
	}
	edits := map[string]string{"endpointAccess: Public\n": fmt.Sprintf("endpointAccess: %s\n", r.access)}
	if r.sharedRouter {
		const kind = "kind: HostedCluster\nmetadata:\n"
		edits[kind] = fmt.Sprintf("%s  annotations: {%s: \"true\"}\n", kind, hyperv1.SharedRouterAnnotation)
	}
	if sample, err = hosting.Replace(sample, edits); err != nil {
		return err
	}
	if err := r.Apply(ctx, customer.Variables, sample); err != nil {
		return err
	}
	r.report("created hosted cluster %s with Kubernetes %s", key, r.version)
	for _, pool := range pools(r.options, customer) {
		if err := management.Create(ctx, pool); err != nil {
			return fmt.Errorf("creating NodePool %s: %w", pool.Name, err)
		}
	}
	return nil
}

// pools distribute the workers over the zones. They are not repaired: tests make nodes unhealthy on purpose.
func pools(o options, customer *accounts.Customer) []*hyperv1.NodePool {
	var all []*hyperv1.NodePool
	for i, subnet := range customer.Subnets[:o.zones] {
		replicas := o.workers / o.zones
		if i < o.workers%o.zones {
			replicas++
		}
		all = append(all, &hyperv1.NodePool{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: fmt.Sprintf("%s-%d", name, i)},
			Spec: hyperv1.NodePoolSpec{
				ClusterName: name, Replicas: ptr.To(int32(replicas)), Release: hyperv1.Release{Image: customer.Variables["RELEASE_IMAGE"]},
				Management: hyperv1.NodePoolManagement{UpgradeType: hyperv1.UpgradeTypeReplace},
				Platform: hyperv1.NodePoolPlatform{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSNodePoolPlatform{
					InstanceType: "m5.large", InstanceProfile: customer.InstanceProfile,
					Subnet: hyperv1.AWSResourceReference{ID: ptr.To(subnet.ID)},
				}},
			},
		})
	}
	return all
}

// connected returns an error that describes why the cluster's API server does not reach pods on its nodes yet.
func connected(ctx context.Context, management client.Client, version string) error {
	hc := &hyperv1.HostedCluster{}
	if err := management.Get(ctx, key, hc); err != nil {
		return err
	}
	for _, condition := range []string{hyperv1.HostedClusterAvailable, hyperv1.DataPlaneConnectionAvailable} {
		c := meta.FindStatusCondition(hc.Status.Conditions, condition)
		if c == nil || c.Status != metav1.ConditionTrue {
			return fmt.Errorf("%s: %s", condition, ptr.Deref(c, metav1.Condition{}).Message)
		}
	}
	if got := versionOf(hc); got != version {
		return fmt.Errorf("its version is %q", got)
	}
	return nil
}

// versionOf is the version that is rolled out, or the next one.
func versionOf(hc *hyperv1.HostedCluster) string {
	if hc.Status.Version == nil || len(hc.Status.Version.History) == 0 {
		return ""
	}
	return hc.Status.Version.History[0].Version
}

// hostedClient returns a client of the hosted cluster without a limit of requests.
func (r *run) hostedClient(ctx context.Context) (client.Client, error) {
	path, err := r.AdminKubeconfig(ctx, key)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return client.New(config, client.Options{})
}

// nodesReady returns an error unless all workers are ready nodes without taints, and no pod of the system waits.
func (r *run) nodesReady(ctx context.Context) error {
	hosted, err := r.hostedClient(ctx)
	if err != nil {
		return err
	}
	nodes, pods := &corev1.NodeList{}, &corev1.PodList{}
	if err := errors.Join(hosted.List(ctx, nodes), hosted.List(ctx, pods, client.InNamespace(metav1.NamespaceSystem))); err != nil {
		return err
	}
	return ready(nodes.Items, pods.Items, r.workers)
}

func ready(nodes []corev1.Node, pods []corev1.Pod, workers int) error {
	if len(nodes) != workers {
		return fmt.Errorf("there are %d nodes, want %d", len(nodes), workers)
	}
	for _, n := range nodes {
		isReady := false
		for _, c := range n.Status.Conditions {
			isReady = isReady || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}
		if !isReady || len(n.Spec.Taints) > 0 {
			return fmt.Errorf("node %s is not ready", n.Name)
		}
	}
	for _, p := range pods {
		isReady := p.Status.Phase == corev1.PodSucceeded
		for _, c := range p.Status.Conditions {
			isReady = isReady || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}
		if !isReady {
			return fmt.Errorf("pod %s is not ready", p.Name)
		}
	}
	return nil
}

// until repeats a check until it succeeds, and prints each new reason why it does not.
func (r *run) until(ctx context.Context, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last := ""
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil && err.Error() != last {
			last = err.Error()
			r.report("… %s", last)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", context.Cause(ctx), last)
		case <-tick.C:
		}
	}
}

// end deletes the cluster, and stops a lab that this run has started.
func (r *run) end(ctx context.Context, running bool) error {
	if !running {
		// With the lab, all that the cluster has ends.
		r.report("removing the lab")
		return r.Down(ctx)
	}
	management, err := r.management()
	if err != nil {
		return err
	}
	r.report("deleting the hosted cluster")
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	if err := management.Delete(ctx, hc); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the hosted cluster: %w", err)
	}
	return r.until(ctx, func(ctx context.Context) error {
		err := management.Get(ctx, key, hc)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			err = errors.New("the hosted cluster is being deleted")
		}
		return err
	})
}
