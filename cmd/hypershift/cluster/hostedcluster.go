package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/clusterprogress"
	"github.com/hosted-control-planes/hypershift/internal/mergepatch"
)

// finalizer keeps the HostedCluster, with the infraID in it, until everything in AWS is deleted. Other command lines use the same one.
const finalizer = "openshift.io/destroy-cluster"

// deleteHostedCluster deletes the HostedCluster and waits until its operators have deleted everything of it, or report it as left behind.
func (d *destruction) deleteHostedCluster(ctx context.Context, env operation.Environment) error {
	hc, m := d.hc, d.m
	if hc == nil {
		return nil
	}
	if hc.DeletionTimestamp.IsZero() {
		if err := keep(ctx, m, hc); err != nil {
			return err
		}
		if err := m.Delete(ctx, hc, client.Preconditions{UID: &hc.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting HostedCluster %s/%s: %w", d.namespace, d.name, err)
		}
		fmt.Fprintf(env.Err, "deleting HostedCluster %s/%s\n", d.namespace, d.name)
	}
	last := hc
	err := management.Wait(ctx, env, d.grace, func(ctx context.Context) (clusterprogress.Progress, error) {
		current, err := m.HostedCluster(ctx, d.namespace, d.name)
		if err != nil {
			return clusterprogress.Progress{}, err
		}
		if current != nil && current.UID != hc.UID {
			return clusterprogress.Progress{}, fmt.Errorf("HostedCluster %s/%s was created again by someone; nothing in AWS was deleted", d.namespace, d.name)
		}
		if current == nil {
			return clusterprogress.Progress{Done: true}, nil
		}
		last = current
		pools, err := m.NodePools(ctx, d.namespace, d.name)
		return clusterprogress.Deletion(current, pools, finalizer), err
	})
	if err != nil {
		return err
	}
	for _, l := range last.Status.LeftBehind {
		d.leftBehind = append(d.leftBehind, strings.Join(strings.Fields(strings.Join([]string{l.Service, l.Type, l.ID, l.Reason}, " ")), " "))
	}
	return nil
}

// keep adds our finalizer.
func keep(ctx context.Context, m *management.API, hc *hyperv1.HostedCluster) error {
	// The operator writes the status of the object at any moment, which is a conflict.
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := m.Get(ctx, client.ObjectKeyFromObject(hc), hc); err != nil {
			return fmt.Errorf("reading HostedCluster %s/%s: %w", hc.Namespace, hc.Name, err)
		}
		if slices.Contains(hc.Finalizers, finalizer) || !hc.DeletionTimestamp.IsZero() {
			return nil
		}
		return setFinalizers(ctx, m, hc, append(slices.Clone(hc.Finalizers), finalizer))
	})
}

// setFinalizers fails if the object has changed since it was read: a finalizer of the operator must not get lost.
func setFinalizers(ctx context.Context, m *management.API, hc *hyperv1.HostedCluster, finalizers []string) error {
	if err := m.Patch(ctx, hc, mergepatch.Metadata(map[string]any{"finalizers": finalizers, "resourceVersion": hc.ResourceVersion})); err != nil {
		return fmt.Errorf("changing the finalizers of HostedCluster %s/%s: %w", hc.Namespace, hc.Name, err)
	}
	return nil
}

// release removes our finalizer from the HostedCluster, which is then gone.
func (d *destruction) release(ctx context.Context, env operation.Environment) error {
	m := d.m
	return management.Wait(ctx, env, time.Minute, func(ctx context.Context) (clusterprogress.Progress, error) {
		waiting := clusterprogress.Progress{Entries: []clusterprogress.Entry{{Name: "hostedcluster", Label: "HostedCluster " + d.name, Text: "removing the last finalizer"}}}
		hc, err := m.HostedCluster(ctx, d.namespace, d.name)
		// A HostedCluster that is not being deleted is another cluster, which was created since.
		if meta.IsNoMatchError(err) || err == nil && (hc == nil || hc.DeletionTimestamp.IsZero()) {
			return clusterprogress.Progress{Done: true}, nil
		}
		if err != nil || !slices.Contains(hc.Finalizers, finalizer) {
			return waiting, err
		}
		others := slices.DeleteFunc(slices.Clone(hc.Finalizers), func(f string) bool { return f == finalizer })
		if err := setFinalizers(ctx, m, hc, others); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return waiting, err
		}
		return waiting, nil
	})
}
