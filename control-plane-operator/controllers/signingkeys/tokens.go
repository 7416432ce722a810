package signingkeys

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/signingkeys"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
)

const (
	// clockMargin is the tolerated difference between the clocks of the two clusters.
	clockMargin = 5 * time.Minute
	// page is the size of the pages of a list.
	page = 500
	// maxNames is how many Secrets are named.
	maxNames = 3
)

// searchTokens counts what may have tokens of the old keys that could be retired: Secrets, whose tokens never expire, and pods that are
// older than the end of a key's use. API servers extend the tokens of pods to a year, and refuse them when the pod is deleted.
func (r *Reconciler) searchTokens(ctx context.Context, s *scope) error {
	if len(s.due) == 0 {
		return nil
	}
	key := client.ObjectKeyFromObject(s.hcp)
	complete := !slices.ContainsFunc(s.due, func(o signingkeys.Old) bool { return !s.reported(o.ID) })
	if left := tokensInterval - r.Clock.Since(r.searched[key]); complete && left > 0 && left <= tokensInterval {
		return nil
	}
	config, err := r.config(ctx, s)
	if err != nil {
		return err
	}
	c, err := r.Open(config)
	if err != nil {
		return errors.New("the certificates or keys in Secret " + names.ControlPlaneOperatorKubeconfig + " cannot be used")
	}
	found := map[string]*hyperv1.OldSigningKeyTokens{}
	for _, o := range s.due {
		found[o.ID] = &hyperv1.OldSigningKeyTokens{KeyID: o.ID, Secrets: ptr.To[int32](0), Pods: ptr.To[int32](0)}
	}
	if err := errors.Join(countSecrets(ctx, c, found), countPods(ctx, c, s.due, found)); err != nil {
		if apierrors.IsForbidden(err) {
			return reconcile.Wait(interval, hyperv1.WaitingForPermissionsReason, "waiting for the permission to look for tokens in the hosted cluster")
		}
		return err
	}
	s.status.OldKeys = nil
	for _, o := range s.due {
		s.status.OldKeys = append(s.status.OldKeys, *found[o.ID])
	}
	r.searched[key] = r.Clock.Now()
	return nil
}

func (s *scope) reported(id string) bool {
	return slices.ContainsFunc(s.status.OldKeys, func(t hyperv1.OldSigningKeyTokens) bool { return t.KeyID == id })
}

// countSecrets counts the Secrets with tokens of the keys. A token without a key ID may be of each of them.
func countSecrets(ctx context.Context, c client.Client, found map[string]*hyperv1.OldSigningKeyTokens) error {
	list := &corev1.SecretList{}
	for {
		err := c.List(ctx, list, client.MatchingFields{"type": string(corev1.SecretTypeServiceAccountToken)}, client.Limit(page), client.Continue(list.Continue))
		if err != nil {
			return fmt.Errorf("listing Secrets with tokens: %w", err)
		}
		for _, secret := range list.Items {
			token := secret.Data[corev1.ServiceAccountTokenKey]
			if len(token) == 0 {
				continue
			}
			id := webidentity.KeyIDOf(token)
			for _, f := range found {
				if id != f.KeyID && id != "" {
					continue
				}
				*f.Secrets++
				if len(f.SecretNames) < maxNames {
					f.SecretNames = append(f.SecretNames, secret.Namespace+"/"+secret.Name)
				}
			}
		}
		if list.Continue == "" {
			return nil
		}
	}
}

// countPods counts the pods that are older than the end of a key's use. A finished pod is a pod as well: its tokens are valid.
func countPods(ctx context.Context, c client.Client, due []signingkeys.Old, found map[string]*hyperv1.OldSigningKeyTokens) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	for {
		if err := c.List(ctx, list, client.Limit(page), client.Continue(list.Continue)); err != nil {
			return fmt.Errorf("listing pods: %w", err)
		}
		for i := range list.Items {
			for _, o := range due {
				if list.Items[i].CreationTimestamp.Time.Before(o.Replaced.Add(clockMargin)) {
					*found[o.ID].Pods++
				}
			}
		}
		if list.Continue == "" {
			return nil
		}
	}
}
