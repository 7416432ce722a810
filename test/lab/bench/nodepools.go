package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/fixture/accounts"
	"github.com/hosted-control-planes/hypershift/test/lab/bench/report"
)

// kindsOfImages are machine images of the lab. A stock image installs the programs of the release when it boots.
var kindsOfImages = []struct {
	name, pool, ami string
	format          hyperv1.UserDataFormat
}{
	{name: "stock image with Ignition", pool: "ignition", ami: awsemulator.ImageAMD64},
	{name: "stock image with cloud-init", pool: "cloud-init", ami: awsemulator.ImageAMD64Older, format: hyperv1.UserDataFormatCloudConfig},
	{name: "image with its own kubelet", pool: "own", ami: awsemulator.ImageAMD64WithKubelet},
}

// nodePools measures how long machines need to become nodes, and to go away again.
func nodePools(ctx context.Context, l *labBench) ([]report.Row, error) {
	hc, customer, err := l.single(ctx, nil)
	if err != nil {
		return nil, err
	}
	var rows []report.Row
	for _, image := range kindsOfImages {
		var lives []poolLife
		for i := range 3 {
			pool := newPool(hc, customer, fmt.Sprintf("%s-%s-%d", hc.Name, image.pool, i))
			pool.Spec.Platform.AWS.AMI = image.ami
			if image.format != "" {
				pool.Annotations = map[string]string{hyperv1.UserDataFormatAnnotation: string(image.format)}
			}
			one, err := l.livePool(ctx, hc, pool)
			if err != nil {
				return rows, fmt.Errorf("%s: %w", pool.Name, err)
			}
			lives = append(lives, one)
		}
		rows = append(rows, nodePoolRow(image.name, lives))
	}
	withNode, err := l.withNode(ctx, hc, customer)
	if err != nil {
		return rows, err
	}
	rows = append(rows, withNodeRow([]rested{withNode}))
	return rows, l.end(ctx, []client.ObjectKey{client.ObjectKeyFromObject(hc)}, &labLife{})
}

// nodePoolRows are the rows of all images, without measurements.
func nodePoolRows() (rows []report.Row) {
	for _, image := range kindsOfImages {
		rows = append(rows, nodePoolRow(image.name, nil))
	}
	return append(rows, withNodeRow(nil))
}

// withNode measures the pods of the control plane while the cluster has one node.
func (b *labBench) withNode(ctx context.Context, hc *hyperv1.HostedCluster, customer *accounts.Customer) (r rested, err error) {
	hosted, err := b.hosted(ctx, hc)
	if err != nil {
		return r, err
	}
	pool := newPool(hc, customer, hc.Name+"-rest")
	pool.Spec.Platform.AWS.AMI = awsemulator.ImageAMD64WithKubelet
	if err := b.management.Create(ctx, pool); err != nil {
		return r, err
	}
	if err := untilSeen(ctx, 5*time.Minute, func(ctx context.Context) (bool, error) { return hasReadyNode(ctx, hosted, pool.Name), nil }); err != nil {
		return r, fmt.Errorf("the node is not ready: %w", err)
	}
	return b.rest(ctx, client.ObjectKeyFromObject(hc))
}

func withNodeRow(all []rested) report.Row {
	latest := last(all)
	row := report.Row{
		What: "hosted control plane with a node, at rest",
		Note: "one replica of everything; memory is anonymous; one idle minute",
		Figures: []report.Figure{
			report.Within("pods", 5, "", values(all, func(r rested) float64 { return float64(r.pods) })...).Earlier("9").
				WhatWasTried("the controllers of the hosted cluster share a pod, and Cluster API and its provider another one (decision 0097). The operator is alone, for its permissions."),
			report.Within("memory", 300, "MiB", values(all, func(r rested) float64 { return sum(r.memory) })...).Earlier("377 MiB").
				WhatWasTried("GOGC is lower in the programs of Kubernetes; the controllers share pods, not processes. The API server alone, with the watches of a node, needs more than half."),
			report.Info("CPU", "% of a core", values(all, func(r rested) float64 { return sum(r.cpu) })...),
		},
	}
	if len(all) > 0 {
		row.Figures[1] = row.Figures[1].WithDetail("%s", latest.detail("%.0f", latest.memory))
		row.Figures[2] = row.Figures[2].WithDetail("%s", latest.detail("%.2f", latest.cpu))
	}
	return row
}

// hasReadyNode reports whether a pool of one machine has a node that is Ready.
func hasReadyNode(ctx context.Context, hosted client.Client, pool string) bool {
	nodes := &corev1.NodeList{}
	if err := hosted.List(ctx, nodes, client.MatchingLabels{"pool": pool}); err != nil || len(nodes.Items) != 1 {
		return false
	}
	for _, c := range nodes.Items[0].Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func nodePoolRow(image string, lives []poolLife) report.Row {
	return report.Row{
		What: "NodePool of 1 machine, " + image,
		Note: "the control plane runs; in the lab an instance runs 1 s after RunInstances; three times",
		Figures: []report.Figure{
			report.Info("apply → node Ready", "s", values(lives, func(l poolLife) float64 { return l.ready })...),
			report.Within("apply → a pod runs on it", 30, "s", values(lives, func(l poolLife) float64 { return l.runs })...).Earlier("24 to 50 s").
				WhatWasTried("an image with its own kubelet needs no installation of programs while it boots; the stock images do."),
			report.Info("deletion: until the instance and the node are gone", "s", values(lives, func(l poolLife) float64 { return l.gone })...),
		},
	}
}

// poolLife contains the times of one NodePool, in seconds.
type poolLife struct{ ready, runs, gone float64 }

// livePool creates a NodePool of a cluster, waits until a pod runs on its node, and deletes it.
func (b *labBench) livePool(ctx context.Context, hc *hyperv1.HostedCluster, pool *hyperv1.NodePool) (life poolLife, err error) {
	hosted, err := b.hosted(ctx, hc)
	if err != nil {
		return life, err
	}
	began := time.Now()
	if err := b.management.Create(ctx, pool); err != nil {
		return life, err
	}
	ofPool := client.MatchingLabels{"pool": pool.Name}
	if err := untilSeen(ctx, 5*time.Minute, func(ctx context.Context) (bool, error) { return hasReadyNode(ctx, hosted, pool.Name), nil }); err != nil {
		return life, fmt.Errorf("the node is not ready: %w", err)
	}
	life.ready = time.Since(began).Seconds()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: pool.Name},
		Spec: corev1.PodSpec{
			NodeSelector:                  map[string]string{"pool": pool.Name},
			TerminationGracePeriodSeconds: new(int64),
			Containers:                    []corev1.Container{{Name: "pause", Image: b.Images["pause"]}},
		},
	}
	if err := untilSeen(ctx, time.Minute, func(ctx context.Context) (bool, error) {
		return hosted.Create(ctx, pod) == nil, nil // there may be no ServiceAccount yet
	}); err != nil {
		return life, err
	}
	if err := untilSeen(ctx, 5*time.Minute, func(ctx context.Context) (bool, error) {
		err := hosted.Get(ctx, client.ObjectKeyFromObject(pod), pod)
		return err == nil && pod.Status.Phase == corev1.PodRunning, nil
	}); err != nil {
		return life, fmt.Errorf("the pod does not run: %w", err)
	}
	life.runs = time.Since(began).Seconds()
	began = time.Now()
	if err := errors.Join(hosted.Delete(ctx, pod), b.management.Delete(ctx, pool)); err != nil {
		return life, err
	}
	if err := untilSeen(ctx, 5*time.Minute, func(ctx context.Context) (bool, error) {
		nodes := &corev1.NodeList{}
		if err := hosted.List(ctx, nodes, ofPool); err != nil || len(nodes.Items) != 0 {
			return false, nil
		}
		return apierrors.IsNotFound(b.management.Get(ctx, client.ObjectKeyFromObject(pool), pool)), nil
	}); err != nil {
		return life, fmt.Errorf("the pool is not gone: %w", err)
	}
	life.gone = time.Since(began).Seconds()
	fmt.Fprintf(os.Stderr, "%s: %+v\n", pool.Name, life)
	return life, nil
}

// single creates a cluster with one replica of everything and with nodes that join through PrivateLink, and waits until it is complete.
func (b *labBench) single(ctx context.Context, edits map[string]string) (*hyperv1.HostedCluster, *accounts.Customer, error) {
	prepared, err := b.prepareVersion(ctx, hyperv1.SingleReplica, b.Versions[0], edits)
	if err != nil {
		return nil, nil, err
	}
	if err := prepared.apply(); err != nil {
		return nil, nil, err
	}
	hc := &hyperv1.HostedCluster{}
	if err := b.management.Get(ctx, prepared.key, hc); err != nil {
		return nil, nil, err
	}
	before := hc.DeepCopy()
	hc.Spec.Platform.AWS.EndpointAccess = hyperv1.PublicAndPrivate
	empty := newPool(hc, prepared.customer, hc.Name) // its subnet gets the endpoint
	empty.Spec.Replicas = new(int32)
	if err := errors.Join(b.management.Patch(ctx, hc, client.MergeFrom(before)), b.management.Create(ctx, empty)); err != nil {
		return nil, nil, err
	}
	if err := untilSeen(ctx, 5*time.Minute, func(ctx context.Context) (bool, error) { return b.rolledOut(ctx, prepared.key), nil }); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", prepared.key, err)
	}
	return hc, prepared.customer, b.management.Get(ctx, prepared.key, hc)
}

// hosted returns a client of the hosted cluster, by its administrator's kubeconfig.
func (b *labBench) hosted(ctx context.Context, hc *hyperv1.HostedCluster) (client.Client, error) {
	path, err := b.AdminKubeconfig(ctx, client.ObjectKeyFromObject(hc))
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // not limited
	return client.New(config, client.Options{})
}

// newPool is a NodePool of one machine in the first zone of a customer. Its nodes have its name as label pool.
func newPool(hc *hyperv1.HostedCluster, customer *accounts.Customer, name string) *hyperv1.NodePool {
	return &hyperv1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Namespace: hc.Namespace, Name: name},
		Spec: hyperv1.NodePoolSpec{
			ClusterName: hc.Name, Replicas: ptr.To[int32](1), Release: hc.Spec.Release,
			Management: hyperv1.NodePoolManagement{UpgradeType: hyperv1.UpgradeTypeReplace},
			NodeLabels: map[string]hyperv1.LabelValue{"pool": hyperv1.LabelValue(name)},
			Platform: hyperv1.NodePoolPlatform{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSNodePoolPlatform{
				InstanceType: "m5.large", InstanceProfile: customer.InstanceProfile,
				Subnet: hyperv1.AWSResourceReference{ID: &customer.Subnets[0].ID},
			}},
		},
	}
}
