package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/lab/bench/report"
	"github.com/hosted-control-planes/hypershift/test/lab/disruption"
)

const (
	// workersDeletions is how often a cluster with workers is deleted.
	workersDeletions = 3
	// workers is the number of its machines.
	workers = 2
	// goneEvery is the time between two reads of the remaining parts.
	goneEvery = 200 * time.Millisecond
)

// part is something that a deletion removes.
type part struct {
	name string
	gone func(context.Context) (bool, error)
}

// goneParts are the seconds until the last of each part was gone, in the order of the parts.
type goneParts []struct {
	Name    string
	Seconds float64
}

// total is the time until everything was gone.
func (g goneParts) total() (seconds float64) {
	for _, p := range g {
		seconds = max(seconds, p.Seconds)
	}
	return seconds
}

func (g goneParts) String() string {
	var all []string
	for _, p := range g {
		all = append(all, fmt.Sprintf("%s %s s", p.Name, report.Number(p.Seconds)))
	}
	return strings.Join(all, ", ")
}

// deletionWithWorkers measures the deletion of clusters that have a node pool.
func deletionWithWorkers(ctx context.Context, l *labBench) ([]report.Row, error) {
	var all []goneParts
	for range workersDeletions {
		one, err := l.deleteWithWorkers(ctx)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "deletion of a cluster with workers: %s\n", one)
		all = append(all, one)
	}
	return deletionWithWorkersRows(all), nil
}

func deletionWithWorkersRows(all []goneParts) []report.Row {
	return []report.Row{{
		What: "deletion of a cluster with workers",
		Note: fmt.Sprintf("one control plane of one replica, one node pool with %d machines; everything is in the management cluster and in both AWS accounts. The parts are those "+
			"of the last of %d times, from the deletion on", workers, workersDeletions),
		Figures: []report.Figure{
			report.Within("until everything is gone", 30, "s", values(all, goneParts.total)...).Earlier("73 s, of which Cluster API's provider waits for 54").
				WithDetail("%s", last(all)).
				WhatWasTried("nodes are not drained, and the operator lets Cluster API's AWS provider look at terminated instances before its minute is over."),
		},
	}}
}

// deleteWithWorkers creates a cluster, waits until its machines are nodes, and deletes it.
func (b *labBench) deleteWithWorkers(ctx context.Context) (goneParts, error) {
	before, err := b.ofProvider(ctx)
	if err != nil {
		return nil, err
	}
	hc, customer, err := b.single(ctx, nil)
	if err != nil {
		return nil, err
	}
	pool := newPool(hc, customer, hc.Name+"-workers")
	replicas := int32(workers)
	pool.Spec.Replicas = &replicas
	if err := b.management.Create(ctx, pool); err != nil {
		return nil, err
	}
	hosted, err := b.hosted(ctx, hc)
	if err != nil {
		return nil, err
	}
	if err := disruption.WaitFor(ctx, "all machines are nodes", func(ctx context.Context) error {
		nodes := &corev1.NodeList{}
		if err := hosted.List(ctx, nodes); err != nil {
			return err
		}
		ready := 0
		for _, n := range nodes.Items {
			for _, c := range n.Status.Conditions {
				if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
					ready++
				}
			}
		}
		if ready != workers {
			return fmt.Errorf("%d of %d nodes are ready", ready, workers)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	parts := b.partsOf(hc, customer.Account, before)
	for _, p := range parts {
		if gone, err := p.gone(ctx); err != nil || gone {
			return nil, errors.Join(err, fmt.Errorf("before the deletion of %s, %s: gone is %t", hc.Name, p.name, gone))
		}
	}
	began := time.Now()
	if err := b.management.Delete(ctx, hc); err != nil {
		return nil, err
	}
	return untilGone(ctx, began, parts)
}

// untilGone waits until all parts are gone. A part that comes back counts until it is gone again.
func untilGone(ctx context.Context, began time.Time, parts []part) (goneParts, error) {
	result := make(goneParts, len(parts))
	for i, p := range parts {
		result[i].Name = p.name
	}
	for {
		left := ""
		for i, p := range parts {
			gone, err := p.gone(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			switch {
			case !gone:
				left, result[i].Seconds = p.name, 0
			case result[i].Seconds == 0:
				result[i].Seconds = time.Since(began).Seconds()
			}
		}
		if left == "" {
			return result, nil
		}
		if time.Since(began) > disruption.Timeout {
			return nil, fmt.Errorf("after %s there is still: %s", disruption.Timeout, left)
		}
		if err := pause(ctx, goneEvery); err != nil {
			return nil, err
		}
	}
}

// partsOf are all parts of a cluster, in the order in which they usually go. account is the account of the customer, and before lists
// the resources that the account of the management cluster had before the cluster.
func (b *labBench) partsOf(hc *hyperv1.HostedCluster, account string, before map[string]bool) []part {
	namespace := controlPlane(client.ObjectKeyFromObject(hc))
	none := func(kind schema.GroupVersionKind, belongs func(metav1.PartialObjectMetadata) bool, opts ...client.ListOption) func(context.Context) (bool, error) {
		return func(ctx context.Context) (bool, error) {
			list := &metav1.PartialObjectMetadataList{}
			list.SetGroupVersionKind(kind)
			if err := b.management.List(ctx, list, opts...); err != nil {
				return false, err
			}
			for _, o := range list.Items {
				if belongs(o) {
					return false, nil
				}
			}
			return true, nil
		}
	}
	all := func(metav1.PartialObjectMetadata) bool { return true }
	in := client.InNamespace(namespace)
	return []part{
		{"EC2 instances", func(ctx context.Context) (bool, error) { return b.ofCustomer(ctx, account, "instance ") }},
		{"Machines of Cluster API", none(schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "MachineList"}, all, in)},
		{"NodePools", func(ctx context.Context) (bool, error) {
			pools := &hyperv1.NodePoolList{}
			if err := b.management.List(ctx, pools, client.InNamespace(hc.Namespace)); err != nil {
				return false, err
			}
			for _, p := range pools.Items {
				if p.Spec.ClusterName == hc.Name {
					return false, nil
				}
			}
			return true, nil
		}},
		{"pods of the control plane", none(corev1.SchemeGroupVersion.WithKind("PodList"), func(o metav1.PartialObjectMetadata) bool {
			return o.Labels["app"] != names.ControlPlaneOperator
		}, in)},
		{"HostedControlPlane", none(hyperv1.GroupVersion.WithKind("HostedControlPlaneList"), all, in)},
		{"volumes", func(ctx context.Context) (bool, error) {
			volumes := &corev1.PersistentVolumeList{}
			if err := b.management.List(ctx, volumes); err != nil {
				return false, err
			}
			for _, v := range volumes.Items {
				if v.Spec.ClaimRef != nil && v.Spec.ClaimRef.Namespace == namespace {
					return false, nil
				}
			}
			return true, nil
		}},
		{"namespace", func(ctx context.Context) (bool, error) {
			err := b.management.Get(ctx, client.ObjectKey{Name: namespace}, &corev1.Namespace{})
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		}},
		{"AWS, account of the customer", func(ctx context.Context) (bool, error) { return b.ofCustomer(ctx, account, "") }},
		{"AWS, account of the provider", func(ctx context.Context) (bool, error) {
			now, err := b.ofProvider(ctx)
			for r := range now {
				if !before[r] {
					return false, nil
				}
			}
			return err == nil, err
		}},
		{"HostedCluster", func(ctx context.Context) (bool, error) {
			err := b.management.Get(ctx, client.ObjectKeyFromObject(hc), &hyperv1.HostedCluster{})
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		}},
	}
}

// ofCustomer reports whether the account of a customer contains only the prepared resources of a kind, or of all kinds for "".
func (b *labBench) ofCustomer(ctx context.Context, account, kind string) (bool, error) {
	left, err := b.AWS.Leftovers(ctx, account)
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(left, func(r string) bool { return strings.HasPrefix(r, kind) }), nil
}

// ofProvider has everything in the account of the management cluster, by kind and id.
func (b *labBench) ofProvider(ctx context.Context) (map[string]bool, error) {
	resources, err := b.AWS.Resources(ctx, b.Management.Account)
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, r := range resources {
		all[r.Kind+" "+r.ID] = true
	}
	return all, nil
}
