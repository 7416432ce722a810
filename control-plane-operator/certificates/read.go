package certificates

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/certsecret"
)

// found holds the namespace's existing objects by name. The objects may come from the cache, so they must not be
// changed.
type found struct {
	// Both also contain the parts of shared objects, by their own names.
	secrets    map[string]map[string][]byte
	configMaps map[string]map[string]string
	// shared is true if the control plane has shared Secrets; see package certsecret.
	shared bool
	// versions are the resource versions of all objects.
	versions []string
}

func read(ctx context.Context, from client.Reader, namespace string) (found, error) {
	f := found{secrets: map[string]map[string][]byte{}, configMaps: map[string]map[string]string{}}
	secrets := &corev1.SecretList{}
	if err := from.List(ctx, secrets, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return f, fmt.Errorf("listing Secrets with certificates: %w", err)
	}
	byName := map[string]*corev1.Secret{}
	for i := range secrets.Items {
		byName[secrets.Items[i].Name] = &secrets.Items[i]
		f.versions = append(f.versions, versionOf(&secrets.Items[i]))
	}
	f.shared = certsecret.AreShared(byName)
	certsecret.Expand(byName)
	for name, secret := range byName {
		f.secrets[name] = secret.Data
	}
	configMaps := &corev1.ConfigMapList{}
	if err := from.List(ctx, configMaps, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return f, fmt.Errorf("listing ConfigMaps with certificates: %w", err)
	}
	bundles := map[string]*corev1.ConfigMap{}
	for i := range configMaps.Items {
		bundles[configMaps.Items[i].Name] = &configMaps.Items[i]
		f.versions = append(f.versions, versionOf(&configMaps.Items[i]))
	}
	certsecret.ExpandBundles(bundles)
	for name, bundle := range bundles {
		f.configMaps[name] = bundle.Data
	}
	slices.Sort(f.versions)
	return f, nil
}

// versionOf changes with every change of obj.
func versionOf(obj client.Object) string {
	return string(obj.GetUID()) + " " + obj.GetResourceVersion()
}
