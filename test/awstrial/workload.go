package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
)

const (
	workloadName = "aws-trial"
	workloadPort = 8080
	replicas     = 2
	interval     = 3 * time.Second
)

// workload creates a Deployment with a Service, and a Job that reaches it by the name of the Service: nodes, images, pod network and
// cluster DNS work then. Its objects are deleted with the cluster.
func (o options) workload(ctx context.Context, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	path, err := o.guestKubeconfig(ctx, out)
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig of the hosted cluster: %w", err)
	}
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("connecting to the hosted cluster: %w", err)
	}
	if err := o.createWorkload(ctx, api); err != nil {
		return err
	}
	for _, until := range []struct {
		what string
		done func() (bool, string, error)
	}{
		{"a ready node", func() (bool, string, error) { return readyNode(ctx, api) }},
		{"the Deployment", func() (bool, string, error) {
			d, err := api.AppsV1().Deployments("default").Get(ctx, workloadName, metav1.GetOptions{})
			if err != nil {
				return false, "", err
			}
			return d.Status.AvailableReplicas == replicas, fmt.Sprintf("%d of %d replicas are available", d.Status.AvailableReplicas, replicas), nil
		}},
		{"the Job that reaches it by name", func() (bool, string, error) {
			j, err := api.BatchV1().Jobs("default").Get(ctx, workloadName, metav1.GetOptions{})
			if err != nil {
				return false, "", err
			}
			return j.Status.Succeeded > 0, fmt.Sprintf("%d pods have failed", j.Status.Failed), nil
		}},
	} {
		began := o.now()
		state := ""
		err := wait.PollUntilContextCancel(ctx, interval, true, func(context.Context) (done bool, _ error) {
			var err error
			done, state, err = until.done()
			if err != nil {
				state = err.Error() // a forwarded connection may break
			}
			return done, nil
		})
		if err != nil {
			return fmt.Errorf("waiting for %s: %s", until.what, state)
		}
		fmt.Fprintf(out, "%s: after %.0f s\n", until.what, o.now().Sub(began).Seconds())
	}
	return nil
}

func readyNode(ctx context.Context, api kubernetes.Interface) (bool, string, error) {
	nodes, err := api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, "", err
	}
	for _, n := range nodes.Items {
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return true, "", nil
			}
		}
	}
	return false, fmt.Sprintf("no node of %d is ready", len(nodes.Items)), nil
}

func (o options) createWorkload(ctx context.Context, api kubernetes.Interface) error {
	labels := map[string]string{"app": workloadName}
	meta := metav1.ObjectMeta{Name: workloadName, Namespace: "default", Labels: labels}
	container := func(args ...string) corev1.PodSpec {
		return corev1.PodSpec{Containers: []corev1.Container{{Name: "agnhost", Image: o.workloadImage, Args: args}}}
	}
	job := container("connect", "--timeout=5s", fmt.Sprintf("%s.default.svc.cluster.local:%d", workloadName, workloadPort))
	job.RestartPolicy = corev1.RestartPolicyNever
	_, serviceErr := api.CoreV1().Services("default").Create(ctx, &corev1.Service{
		ObjectMeta: meta, Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: workloadPort}}},
	}, metav1.CreateOptions{})
	_, deploymentErr := api.AppsV1().Deployments("default").Create(ctx, &appsv1.Deployment{
		ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](replicas), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: container("netexec", fmt.Sprintf("--http-port=%d", workloadPort))},
		},
	}, metav1.CreateOptions{})
	_, jobErr := api.BatchV1().Jobs("default").Create(ctx, &batchv1.Job{
		// The Job begins before the Deployment gets an address: it is repeated.
		ObjectMeta: meta, Spec: batchv1.JobSpec{BackoffLimit: ptr.To[int32](20), Template: corev1.PodTemplateSpec{Spec: job}},
	}, metav1.CreateOptions{})
	for _, err := range []error{serviceErr, deploymentErr, jobErr} {
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating the workload: %w", err)
		}
	}
	return nil
}

// guestKubeconfig returns the kubeconfig of the hosted cluster. Without one, the command line forwards a port until ctx ends.
func (o options) guestKubeconfig(ctx context.Context, out io.Writer) (string, error) {
	if o.guest != "" {
		return o.guest, nil
	}
	path := filepath.Join(o.directory, o.name+".kubeconfig")
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("removing an earlier kubeconfig: %w", err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- o.command(ctx, out, nil, []string{o.hypershift, "create", "kubeconfig", o.name, "--port-forward", "--output-file", path})
	}()
	for {
		if text, err := os.ReadFile(path); err == nil && len(text) > 0 {
			return path, nil
		}
		select {
		case err := <-ended:
			return "", fmt.Errorf("the port of the API server is not forwarded: %w", err)
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(time.Second):
		}
	}
}
