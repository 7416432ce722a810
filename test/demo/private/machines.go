package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// startMachines starts the stand-ins of the demo: the API server of the hosted cluster, and the kubelets of the machines.
func (s *demo) startMachines(ctx context.Context) error {
	object, err := s.camera.objects.Resource(hypershift("hostedclusters")).Namespace(namespace).Get(ctx, cluster, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the HostedCluster: %w", err)
	}
	hc := &hyperv1.HostedCluster{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, hc); err != nil {
		return fmt.Errorf("reading the HostedCluster: %w", err)
	}
	_, err = s.environment.StartMachines(ctx, hc, s.customer)
	return err
}

// withoutNodes lists pools that lack nodes, and instances that are missing or superfluous.
func (s *demo) withoutNodes(p snapshot) []string {
	var missing []string
	want := 0
	for _, np := range p.of(inKubernetes, "NodePool") {
		missing = append(missing, notTrue(np, "Ready")...)
		have, _, _ := unstructured.NestedInt64(np.object.Object, "status", "replicas")
		replicas, _, _ := unstructured.NestedInt64(np.object.Object, "spec", "replicas")
		if have != replicas {
			missing = append(missing, fmt.Sprintf("NodePool %s has %d of %d nodes", np.name, have, replicas))
		}
		want += int(replicas)
	}
	for _, m := range p.of(inKubernetes, "Machine") {
		if m.state != "Running" {
			missing = append(missing, "Machine "+m.name+" is "+m.state)
		}
	}
	running := 0
	for _, i := range p.of(inCustomer, "EC2 instance") {
		if i.state == "running" {
			running++
		}
	}
	if running != want {
		missing = append(missing, fmt.Sprintf("%d EC2 instances run, not %d", running, want))
	}
	return missing
}
