package bootstrap

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/bootstraptoken"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

const (
	// lifetime of a token. User data can be read on the instance, also by an attacker.
	lifetime = 30 * time.Minute
	// renewal is after half of the lifetime: an instance that was started just before can join during the other half.
	renewal = lifetime / 2
)

// A token lets one machine join.
type token struct {
	id, secret string
	ends       time.Time
	// number is the last part of the name of its Secret.
	number int
}

func (t token) String() string { return t.id + "." + t.secret }

// ensureToken finds the newest token of the machine, and creates the next one if more than half of its lifetime has passed.
func (r *Reconciler) ensureToken(ctx context.Context, s *scope) error {
	secrets, err := r.tokenSecrets(ctx, s.nb.Namespace, s.nb.Name)
	if err != nil {
		return err
	}
	now := r.Clock.Now()
	for i := range secrets {
		t := tokenIn(&secrets[i])
		if !now.Before(t.ends) || !metav1.IsControlledBy(&secrets[i], s.nb) {
			if err := r.remove(ctx, &secrets[i]); err != nil {
				return err
			}
			continue
		}
		if t.ends.After(s.token.ends) {
			s.token = t
		}
	}
	if s.token.ends.Sub(now) <= lifetime-renewal {
		if err := r.issue(ctx, s, now); err != nil {
			return err
		}
	}
	s.renewal = s.token.ends.Add(renewal - lifetime).Sub(now)
	s.node.Token = s.token.String()
	return nil
}

// issue creates the next token. The name of its Secret is deterministic: after a crash, or with a stale cache, the Secret
// that was created before is found instead of a second one created.
func (r *Reconciler) issue(ctx context.Context, s *scope, now time.Time) error {
	next, err := newToken(r.Random, s.token.number+1, now.Add(lifetime))
	if err != nil {
		return err
	}
	secret, err := r.desiredToken(s, next)
	if err != nil {
		return err
	}
	err = r.Client.Create(ctx, secret)
	if apierrors.IsAlreadyExists(err) {
		return r.adopt(ctx, s, client.ObjectKeyFromObject(secret), now)
	}
	if err != nil {
		return fmt.Errorf("making Secret %s: %w", secret.Name, err)
	}
	s.token = next
	return nil
}

// adopt uses a token that the cache does not have yet.
func (r *Reconciler) adopt(ctx context.Context, s *scope, key client.ObjectKey, now time.Time) error {
	live := &corev1.Secret{}
	if err := r.Reader.Get(ctx, key, live); err != nil {
		return fmt.Errorf("getting Secret %s: %w", key.Name, err)
	}
	if live.Labels[apply.InventoryLabel] != inventory {
		return reconcile.Wait(lookAgain, hyperv1.InvalidNodeInputReason, "Secret %s has another owner: delete or rename it", key.Name)
	}
	if t := tokenIn(live); metav1.IsControlledBy(live, s.nb) && now.Before(t.ends) {
		s.token = t
		return nil
	}
	return r.remove(ctx, live) // the next reconcile creates another
}

// setTokens labels the Secrets with tokens, so that the cache keeps them.
const (
	setTokens = "bootstrap-tokens"
	inventory = names.HypershiftOperator + "." + setTokens
)

// desiredToken returns the Secret in the format of the hosted cluster.
func (r *Reconciler) desiredToken(s *scope, t token) (*corev1.Secret, error) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.nb.Namespace,
			Name:      tokenPrefix + s.machine.Name + "-" + strconv.Itoa(t.number),
			Labels:    map[string]string{apply.InventoryLabel: inventory, hyperv1.BootstrapTokenLabel: s.nb.Name},
		},
		Type: corev1.SecretTypeBootstrapToken,
		Data: map[string][]byte{
			bootstrapapi.BootstrapTokenIDKey:               []byte(t.id),
			bootstrapapi.BootstrapTokenSecretKey:           []byte(t.secret),
			bootstrapapi.BootstrapTokenExpirationKey:       []byte(t.ends.UTC().Format(time.RFC3339)),
			bootstrapapi.BootstrapTokenUsageAuthentication: []byte("true"),
			bootstrapapi.BootstrapTokenExtraGroupsKey:      []byte(bootstrapapi.BootstrapDefaultGroup + ":" + s.nb.Spec.NodePoolName),
			bootstrapapi.BootstrapTokenDescriptionKey:      []byte("machine " + s.machine.Name),
		},
	}
	return secret, controllerutil.SetControllerReference(s.nb, secret, r.Scheme)
}

const tokenPrefix = "token-"

// tokenIn reads a Secret that desiredToken wrote. It returns an expired token for other content.
func tokenIn(secret *corev1.Secret) token {
	t := token{id: string(secret.Data[bootstrapapi.BootstrapTokenIDKey]), secret: string(secret.Data[bootstrapapi.BootstrapTokenSecretKey])}
	ends, err := time.Parse(time.RFC3339, string(secret.Data[bootstrapapi.BootstrapTokenExpirationKey]))
	if err != nil || t.id == "" || t.secret == "" {
		return token{}
	}
	t.ends = ends
	t.number, _ = strconv.Atoi(secret.Name[strings.LastIndex(secret.Name, "-")+1:])
	return t
}

// newToken creates a token from random bytes.
func newToken(random io.Reader, number int, ends time.Time) (token, error) {
	id, secret, err := bootstraptoken.New(random)
	return token{id: id, secret: secret, ends: ends, number: number}, err
}

// tokenSecrets lists the Secrets with the tokens of a NodeBootstrap.
func (r *Reconciler) tokenSecrets(ctx context.Context, namespace, name string) ([]corev1.Secret, error) {
	list := &corev1.SecretList{}
	err := r.Client.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{apply.InventoryLabel: inventory, hyperv1.BootstrapTokenLabel: name})
	if err != nil {
		return nil, fmt.Errorf("listing bootstrap tokens of %s: %w", name, err)
	}
	return list.Items, nil
}

// revoke deletes the tokens of a machine.
func (r *Reconciler) revoke(ctx context.Context, nb *hyperv1.NodeBootstrap) error {
	secrets, err := r.tokenSecrets(ctx, nb.Namespace, nb.Name)
	if err != nil {
		return err
	}
	for i := range secrets {
		if err := r.remove(ctx, &secrets[i]); err != nil {
			return err
		}
	}
	return nil
}

// sweep deletes the tokens of a NodeBootstrap that no longer exists. The garbage collector does that too, but later.
func (r *Reconciler) sweep(ctx context.Context, key types.NamespacedName) error {
	return r.revoke(ctx, &hyperv1.NodeBootstrap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
}

func (r *Reconciler) remove(ctx context.Context, secret *corev1.Secret) error {
	return reconcile.Delete(ctx, r.Client, secret)
}
