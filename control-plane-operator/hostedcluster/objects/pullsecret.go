package objects

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// pullSecret allows nodes to pull the images of our pods, and those for which users of the cluster have added credentials. Nodes keep a copy.
var pullSecret = Set{
	Name:      "pull-secret",
	Namespace: metav1.NamespaceSystem,
	Kinds:     []client.ObjectList{&corev1.SecretList{}},
	Desired:   desiredPullSecret,
}

func desiredPullSecret(ctx context.Context, b *Builder) ([]client.Object, error) {
	credentials, err := b.credentials(ctx)
	additional, errAdditional := b.AdditionalPullSecret(ctx)
	if err := errors.Join(err, errAdditional); err != nil {
		return nil, err
	}
	if additional != nil && additional.merged != nil {
		credentials = additional.merged
	}
	if len(credentials) == 0 {
		return nil, nil
	}
	return []client.Object{&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: names.HostedPullSecret},
		Type:       corev1.SecretTypeDockerConfigJson,
		Data:       map[string][]byte{corev1.DockerConfigJsonKey: credentials},
	}}, nil
}

// AdditionalPullSecret are the credentials that users of the hosted cluster have added.
type AdditionalPullSecret struct {
	// Registries are those for which there are additional credentials, and Ignored those for which the cluster has its own.
	Registries, Ignored []string
	// Problem is why no credentials are added, or nil.
	Problem error

	// merged are all credentials, or nil.
	merged []byte
}

// AdditionalPullSecret reads the Secret of the users, once, and returns nil if there is none.
func (b *Builder) AdditionalPullSecret(ctx context.Context) (*AdditionalPullSecret, error) {
	if b.additional == nil {
		found, err := b.readAdditionalPullSecret(ctx)
		b.additional = &additionalPullSecret{found, err}
	}
	return b.additional.found, b.additional.err
}

// additionalPullSecret is the result of reading it.
type additionalPullSecret struct {
	found *AdditionalPullSecret
	err   error
}

func (b *Builder) readAdditionalPullSecret(ctx context.Context) (*AdditionalPullSecret, error) {
	secret := &corev1.Secret{}
	err := b.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: names.AdditionalPullSecret}, secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading Secret %s of the hosted cluster: %w", names.AdditionalPullSecret, err)
	}
	if err != nil {
		return nil, nil //nolint:nilnil // it is optional
	}
	own, err := b.credentials(ctx)
	if err != nil {
		return nil, err
	}
	a := &AdditionalPullSecret{}
	a.Problem = a.merge(own, secret.Data[corev1.DockerConfigJsonKey])
	return a, nil
}

// dockerConfig is the format of pull secrets.
type dockerConfig struct {
	Auths map[string]json.RawMessage `json:"auths"`
}

// merge adds credentials to those of the cluster, which has precedence: its own pods need them.
func (a *AdditionalPullSecret) merge(own, additional []byte) error {
	var all, more dockerConfig
	if len(additional) == 0 {
		return fmt.Errorf("it has no key %s", corev1.DockerConfigJsonKey)
	}
	// The text of an error may quote credentials.
	if json.Unmarshal(additional, &more) != nil {
		return fmt.Errorf("%s is not valid JSON with auths", corev1.DockerConfigJsonKey)
	}
	if len(more.Auths) == 0 {
		return fmt.Errorf("%s has no auths", corev1.DockerConfigJsonKey)
	}
	if len(own) > 0 && json.Unmarshal(own, &all) != nil {
		return errors.New("the pull secret of the HostedCluster is not valid JSON with auths")
	}
	if all.Auths == nil {
		all.Auths = map[string]json.RawMessage{}
	}
	for _, registry := range slices.Sorted(maps.Keys(more.Auths)) {
		var entry struct{ Auth, Username, Password, IdentityToken, RegistryToken string }
		if json.Unmarshal(more.Auths[registry], &entry) != nil || entry == (struct{ Auth, Username, Password, IdentityToken, RegistryToken string }{}) {
			return fmt.Errorf("%s has no credentials for %s", corev1.DockerConfigJsonKey, registry)
		}
		if _, exists := all.Auths[registry]; exists {
			a.Ignored = append(a.Ignored, registry)
			continue
		}
		all.Auths[registry] = more.Auths[registry]
		a.Registries = append(a.Registries, registry)
	}
	merged, err := json.Marshal(all)
	a.merged = merged
	return err
}

// Condition returns the status, the reason and the message of the condition AdditionalPullSecretMerged.
func (a *AdditionalPullSecret) Condition() metav1.Condition {
	if a.Problem != nil {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: hyperv1.InvalidPullSecretReason, Message: fmt.Sprintf(
			"Secret kube-system/%s of the hosted cluster adds no credentials: %v", names.AdditionalPullSecret, a.Problem)}
	}
	message := "nodes get additional credentials for " + strings.Join(a.Registries, ", ")
	if len(a.Registries) == 0 {
		message = "nodes get no additional credentials"
	}
	if len(a.Ignored) > 0 {
		message += "; those of the HostedCluster have precedence for " + strings.Join(a.Ignored, ", ")
	}
	return metav1.Condition{Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason, Message: message}
}
