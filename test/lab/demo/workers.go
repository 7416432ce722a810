package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// privately makes workers use PrivateLink.
const privately = `{"spec":{"platform":{"aws":{"endpointAccess":"PublicAndPrivate"}}}}`

// work lets machines of the customer join, which then run the pods of use.
func (s *show) work(ctx context.Context) error {
	s.phase("Add workers to %q, which connect through PrivateLink: two instances in the customer's account.", s.one.Name)
	if err := s.kubectl(ctx, s.hosting.Kubeconfig, "patch hostedcluster "+s.one.Name+" -n "+s.one.Namespace+" --type=merge -p "+privately); err != nil {
		return err
	}
	pool, err := s.hosting.Pool(s.one.Name)
	if err != nil {
		return err
	}
	s.report("kubectl apply -f %s-pool.yaml   # the first of config/samples/nodepools.yaml", s.one.Name)
	if err := s.hosting.Apply(ctx, s.one.variables, pool); err != nil {
		return err
	}
	applied := time.Now()
	if err := s.awaitNodes(ctx, 2); err != nil {
		return err
	}
	if err := s.follow(ctx, "tunnels", s.one, connected); err != nil {
		return err
	}
	if err := s.kubectl(ctx, s.one.kubeconfig, "rollout status deployment/hello --timeout=60s"); err != nil {
		return err
	}
	s.report("✓ pods run on workers %.1f s after apply", time.Since(applied).Seconds())
	return s.kubectl(ctx, s.one.kubeconfig, "get nodes -o wide", "get pods -A -o wide", "exec deployment/hello -- hostname")
}

// awaitNodes prints nodes until that many are ready.
func (s *show) awaitNodes(ctx context.Context, want int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("the workers did not join in time"))
	defer cancel()
	config, err := clientcmd.BuildConfigFromFlags("", s.one.kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig of %s: %w", s.one.Name, err)
	}
	hosted, err := client.New(config, client.Options{})
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", s.one.Name, err)
	}
	ready := map[string]bool{}
	for len(ready) < want {
		nodes := &corev1.NodeList{}
		// The API server may be unreachable while its endpoint changes.
		if err := hosted.List(ctx, nodes); err == nil {
			for _, n := range nodes.Items {
				if isReady(&n) && !ready[n.Name] {
					ready[n.Name] = true
					s.report("+ %s: node %s is ready", s.one.Name, n.Name)
				}
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
	}
	return nil
}

func isReady(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
