package target

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/hosted-control-planes/hypershift/internal/certsecret"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// mountShared makes the pod mount its certificates from the Secrets that this control plane has: shared Secrets, unless the
// control plane was created by an earlier version. A volume contains the keys of one certificate only. The hash of the mounted
// content does not depend on it.
func (p *ControlPlane) mountShared(pod *corev1.PodSpec) {
	for i := range pod.Volumes {
		v := &pod.Volumes[i]
		if v.Secret != nil {
			v.Secret.SecretName, v.Secret.Items = p.sharing(v.Secret.SecretName, v.Secret.Items)
		}
		if v.ConfigMap != nil {
			v.ConfigMap.Name, v.ConfigMap.Items = p.sharingBundle(v.ConfigMap.Name, v.ConfigMap.Items)
		}
	}
}

// sharingBundle does the same for a bundle of authorities, which has one key.
func (p *ControlPlane) sharingBundle(name string, items []corev1.KeyToPath) (string, []corev1.KeyToPath) {
	if !certsecret.IsSharedBundle(name) || p.ConfigMaps[certsecret.Bundles] == nil {
		return name, items
	}
	return certsecret.Bundles, []corev1.KeyToPath{{Key: certsecret.Key(name, pki.TrustKey), Path: pki.TrustKey}}
}

// sharing returns the Secret to mount, and its keys, instead of those keys of the Secret of that name.
func (p *ControlPlane) sharing(name string, items []corev1.KeyToPath) (string, []corev1.KeyToPath) {
	shared := certsecret.SharedBy(name)
	if shared == "" || p.Secrets[shared] == nil {
		return name, items
	}
	if len(items) == 0 {
		for _, key := range certsecret.Keys(name) {
			items = append(items, corev1.KeyToPath{Key: key, Path: key})
		}
	}
	var prefixed []corev1.KeyToPath
	for _, i := range items {
		i.Key = certsecret.Key(name, i.Key)
		prefixed = append(prefixed, i)
	}
	return shared, prefixed
}
