package certsecret

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// Bundles is the ConfigMap that several bundles of trusted authorities share where certificates share Secrets. They are public.
const Bundles = "certificate-authorities"

// bundles are the names of the bundles in it. The bundle root-ca, with which clients verify the API server, has its own ConfigMap.
var bundles = []string{names.ClientCA, names.KubeletServingCA, names.KubeletClientCA}

// IsSharedBundle reports whether the bundle of that name is in Bundles.
func IsSharedBundle(name string) bool { return slices.Contains(bundles, name) }

// ExpandBundles adds each bundle that is in the shared ConfigMap, as if it had its own.
func ExpandBundles(configMaps map[string]*corev1.ConfigMap) {
	shared := configMaps[Bundles]
	if shared == nil {
		return
	}
	for _, name := range bundles {
		if text, ok := shared.Data[Key(name, pki.TrustKey)]; ok {
			bundle := &corev1.ConfigMap{ObjectMeta: shared.ObjectMeta, Data: map[string]string{pki.TrustKey: text}}
			bundle.Name = name
			configMaps[name] = bundle
		}
	}
}

// GetBundle reads the bundle of that name, as if it had its own ConfigMap.
func GetBundle(ctx context.Context, reader client.Reader, key client.ObjectKey, into *corev1.ConfigMap) error {
	configMaps := map[string]*corev1.ConfigMap{Bundles: {}}
	err := reader.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: Bundles}, configMaps[Bundles])
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if ExpandBundles(configMaps); configMaps[key.Name] == nil {
		return reader.Get(ctx, key, into)
	}
	*into = *configMaps[key.Name]
	return nil
}
