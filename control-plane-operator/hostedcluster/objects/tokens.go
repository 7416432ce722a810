package objects

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// bootstrapTokenID is the pattern of the ids of bootstrap tokens. Package k8s.io/cluster-bootstrap/token/util defines the same pattern, but
// its other content takes 190 KB in every control-plane-operator.
var bootstrapTokenID = regexp.MustCompile(`^[a-z0-9]{6}$`)

// bootstrapTokens are the tokens with which machines join. The hypershift-operator creates and deletes them, and a
// deleted token is pruned here.
var bootstrapTokens = Set{
	Name:      "bootstrap-tokens",
	Namespace: metav1.NamespaceSystem,
	Kinds:     []client.ObjectList{&corev1.SecretList{}},
	Desired:   desiredTokens,
}

func desiredTokens(ctx context.Context, b *Builder) ([]client.Object, error) {
	list := &corev1.SecretList{}
	if err := b.Client.List(ctx, list, client.InNamespace(b.HCP.Namespace), client.HasLabels{hyperv1.BootstrapTokenLabel}); err != nil {
		return nil, fmt.Errorf("listing bootstrap tokens: %w", err)
	}
	var tokens []client.Object
	for _, secret := range list.Items {
		if token := BootstrapToken(&secret, b.Clock.Now()); token != nil {
			tokens = append(tokens, token)
		}
	}
	onDemand, err := b.TokenOnDemand(ctx)
	if err != nil {
		return nil, err
	}
	if onDemand != nil {
		tokens = append(tokens, onDemand)
	}
	slices.SortFunc(tokens, func(a, b client.Object) int { return strings.Compare(a.GetName(), b.GetName()) })
	return tokens, nil
}

// BootstrapToken returns the token for the hosted cluster, or nil for an invalid or expired one. The hosted cluster deletes
// expired tokens itself.
func BootstrapToken(secret *corev1.Secret, now time.Time) *corev1.Secret {
	id := string(secret.Data[bootstrapapi.BootstrapTokenIDKey])
	ends, err := time.Parse(time.RFC3339, string(secret.Data[bootstrapapi.BootstrapTokenExpirationKey]))
	if secret.Type != corev1.SecretTypeBootstrapToken || !bootstrapTokenID.MatchString(id) || err != nil || !now.Before(ends) || !secret.DeletionTimestamp.IsZero() {
		return nil
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: bootstrapapi.BootstrapTokenSecretPrefix + id},
		Type:       corev1.SecretTypeBootstrapToken,
		Data:       secret.Data,
	}
}
