package authorities

import (
	"bytes"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/connection"
	"github.com/hosted-control-planes/hypershift/internal/certsecret"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/oneline"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Reasons of events.
const (
	nodesBlockRotation = "NodesHoldUpRotation"
	nodesLeftBehind    = "NodesLeftBehind"
	// followAuthorities is the action in them.
	followAuthorities = "FollowAuthorities"
)

// maxListed is the largest number of nodes in a message.
const maxListed = 10

const (
	// reportNodesAfter is the time after the introduction of an authority when an event reports the nodes without it. Nodes poll
	// every five minutes.
	reportNodesAfter = 15 * time.Minute
	// nodesTimeout is the time for which a new authority waits for nodes. Without a limit, a node that is off, or that
	// does not follow the authorities, would block the rotation for ever. Waiting is cheap, but losing a node is not.
	nodesTimeout = 24 * time.Hour
)

// A Rollout holds the next authority of a control plane back.
type Rollout struct {
	// Client reads the management cluster.
	Client client.Client
	// Recorder records events about nodes that lack the next authority.
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
}

// Await waits, by reconcile.Wait, until nodes trust the next authority before it signs.
func (r Rollout) Await(ctx context.Context, hcp *hyperv1.HostedControlPlane, cluster *connection.Cluster) error {
	since, err := r.introduced(ctx, hcp.Namespace)
	if err != nil || since.IsZero() {
		return err
	}
	if authorities, err := ForPods(ctx, cluster); err != nil {
		return err
	} else if !bytes.Equal(authorities, cluster.Config.CAData) {
		return reconcile.Wait(NodesInterval, hyperv1.NodesBehindReason, "waiting until kube-controller-manager publishes the next certificate authorities to pods")
	}
	data, err := ForNodes(ctx, r.Client, hcp, cluster)
	if err != nil {
		return err
	}
	revision := data[names.AuthoritiesRevision]
	behind, err := nodesWithout(ctx, cluster, revision)
	if err != nil || len(behind) == 0 {
		return err
	}
	nodes, waited := oneline.List(behind, maxListed), r.Clock.Since(since)
	if waited >= nodesTimeout {
		cluster.RecordOnce(r.Recorder, hcp, nodesLeftBehind, followAuthorities, revision, "the next certificate authorities sign although nodes %s have not adopted them within %.0f hours: these nodes lose the connection to the API server and must be replaced", nodes, nodesTimeout.Hours())
		return nil
	}
	if waited >= reportNodesAfter {
		cluster.RecordOnce(r.Recorder, hcp, nodesBlockRotation, followAuthorities, revision, "nodes %s have not adopted the next certificate authorities, which wait for them for %.0f hours; machines of older releases, which do not follow the authorities, must be replaced", nodes, nodesTimeout.Hours())
	}
	return reconcile.Wait(NodesInterval, hyperv1.NodesBehindReason, "waiting for nodes %s to adopt the next certificate authorities", nodes)
}

// NodesInterval is the interval for checking the nodes again: they adopt authorities and addresses within minutes.
const NodesInterval = 20 * time.Second

// introduced returns the time of the last new authority that nodes must trust before it signs, or zero without a new authority.
func (r Rollout) introduced(ctx context.Context, namespace string) (time.Time, error) {
	var since time.Time
	for _, name := range []string{names.RootCA, names.KubeletClientSigner} {
		secret := &corev1.Secret{}
		if err := certsecret.Get(ctx, r.Client, client.ObjectKey{Namespace: namespace, Name: name}, secret); client.IgnoreNotFound(err) != nil {
			return since, fmt.Errorf("reading Secret %s: %w", name, err)
		}
		// A missing or invalid signer is not about to sign. The components controller reports it.
		signer, err := pki.DecodeSigner(secret.Data)
		if err == nil && signer.Next != nil && signer.Since.After(since) {
			since = signer.Since
		}
	}
	return since, nil
}

// nodesWithout returns the names of the nodes that have not adopted a revision.
func nodesWithout(ctx context.Context, cluster *connection.Cluster, revision string) ([]string, error) {
	list := connection.Nodes()
	if err := cluster.Client.List(ctx, list); err != nil {
		return nil, fmt.Errorf("reading the authorities of nodes: %w", err)
	}
	var behind []string
	for _, node := range list.Items {
		if node.Annotations[names.AuthoritiesAnnotation] != revision {
			behind = append(behind, node.Name)
		}
	}
	return behind, nil
}
