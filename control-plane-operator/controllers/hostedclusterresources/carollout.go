package hostedclusterresources

import (
	"bytes"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Reasons of events.
const (
	nodesHoldUp     = "NodesHoldUpRotation"
	nodesLeftBehind = "NodesLeftBehind"
)

const (
	// holdUp is how long after an authority was introduced somebody is told of the
	// nodes that do not have it: nodes ask every five minutes.
	holdUp = 15 * time.Minute
	// leaveBehind is how long an authority that is introduced waits for nodes. One
	// that is off, or was made before nodes followed, would else keep it from
	// signing for ever; and to wait costs nothing, but to lose a node does.
	leaveBehind = 24 * time.Hour
)

// awaitNodes waits, while an authority that nodes have to believe is not signing
// yet, until they do. When it signs they have it, or have been left behind.
func (r *Reconciler) awaitNodes(ctx context.Context, s *scope) error {
	since, err := r.introduced(ctx, s)
	if err != nil || since.IsZero() {
		return err
	}
	if believed, err := r.believed(ctx, s); err != nil {
		return err
	} else if !bytes.Equal(believed, s.hosted.config.CAData) {
		return reconcile.Wait(lookForFollowers, hyperv1.NodesBehindReason, "the pods of the cluster are not told of the next certificate authorities yet")
	}
	data, err := r.authorities(ctx, s)
	if err != nil {
		return err
	}
	revision := data[names.AuthoritiesRevision]
	behind, err := nodesWithout(ctx, s, revision)
	if err != nil || len(behind) == 0 {
		return err
	}
	who, waited := some(behind), r.Clock.Since(since)
	if waited >= leaveBehind {
		r.tell(s, nodesLeftBehind, revision, "the next certificate authorities sign although nodes %s have not taken them over within %.0f hours: these lose the API server, and have to be replaced", who, leaveBehind.Hours())
		return nil
	}
	if waited >= holdUp {
		r.tell(s, nodesHoldUp, revision, "nodes %s have not taken over the next certificate authorities, which wait for them until %.0f hours after they were introduced; machines that were made before nodes followed never will, and have to be replaced", who, leaveBehind.Hours())
	}
	return reconcile.Wait(lookForFollowers, hyperv1.NodesBehindReason, "nodes %s have not taken over the next certificate authorities, which do not sign before they have", who)
}

// lookForFollowers is how soon to look again whether nodes have what they need.
const lookForFollowers = 20 * time.Second

// introduced is when the last authority was made that nodes have to believe
// before it signs; zero if there is none.
func (r *Reconciler) introduced(ctx context.Context, s *scope) (time.Time, error) {
	var since time.Time
	for _, name := range []string{names.RootCA, names.KubeletClientSigner} {
		secret := &corev1.Secret{}
		if err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.hcp.Namespace, Name: name}, secret); client.IgnoreNotFound(err) != nil {
			return since, fmt.Errorf("reading Secret %s: %w", name, err)
		}
		// One that is not there, or cannot be read, is not about to sign; who makes them says so.
		signer, err := pki.DecodeSigner(secret.Data)
		if err == nil && signer.Next != nil && signer.Since.After(since) {
			since = signer.Since
		}
	}
	return since, nil
}

// nodesWithout are the names of the nodes that have not taken a revision over.
func nodesWithout(ctx context.Context, s *scope, revision string) ([]string, error) {
	list := metadata("NodeList")
	if err := s.hosted.client.List(ctx, list); err != nil {
		return nil, fmt.Errorf("asking nodes what authorities they have: %w", err)
	}
	var behind []string
	for _, node := range list.Items {
		if node.Annotations[names.AuthoritiesAnnotation] != revision {
			behind = append(behind, node.Name)
		}
	}
	return behind, nil
}

// tell tells of a revision, once for each thing that there is to say of it.
func (r *Reconciler) tell(s *scope, reason, revision, format string, args ...any) {
	if s.hosted.told[reason] == revision {
		return
	}
	s.hosted.told[reason] = revision
	r.Recorder.Eventf(s.hcp, nil, corev1.EventTypeWarning, reason, "FollowAuthorities", format, args...)
}
