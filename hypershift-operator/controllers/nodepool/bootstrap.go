package nodepool

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apply"
)

// ensureBootstrap writes down how the nodes shall be, and makes what the user
// data of each machine is made from. Both are named by what they hold, and by
// what the user data has of the cluster: with it the nodes differ.
func (r *Reconciler) ensureBootstrap(ctx context.Context, s *scope) error {
	secret, err := desiredConfig(s)
	if err != nil {
		return err
	}
	template, err := desiredBootstrap(s, secret.Name)
	if err != nil {
		return err
	}
	if _, err := r.apply.Apply(ctx, apply.Set{Name: setConfigs, Namespace: s.controlPlane}, secret); err != nil {
		return err
	}
	if _, err := r.apply.Apply(ctx, apply.Set{Name: setTemplates, Namespace: s.controlPlane}, template); err != nil {
		return err
	}
	s.bootstrap, s.nodeConfig = template.Name, secret.Name
	return nil
}

func desiredConfig(s *scope) (*corev1.Secret, error) {
	hash, err := s.config.Hash(s.clusterWide...)
	if err != nil {
		return nil, err
	}
	text, err := s.config.Marshal()
	if err != nil {
		return nil, err
	}
	return &corev1.Secret{
		ObjectMeta: s.meta(configPrefix + s.np.Name + "-" + hash),
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{configKey: text},
	}, nil
}

const configPrefix = "node-config-"

// desiredBootstrap is named by the version too: with it the user data differs.
func desiredBootstrap(s *scope, configName string) (*hyperv1.NodeBootstrapTemplate, error) {
	version := nodeVersion(s.release)
	hash, err := s.config.Hash(append([]string{version}, s.clusterWide...)...)
	if err != nil {
		return nil, err
	}
	meta := s.clusters(s.np.Name + "-" + hash)
	meta.Annotations[hyperv1.ReleaseVersionAnnotation] = s.release.Version
	return &hyperv1.NodeBootstrapTemplate{
		ObjectMeta: meta,
		Spec: hyperv1.NodeBootstrapTemplateSpec{Template: hyperv1.NodeBootstrapTemplateResource{
			Spec: hyperv1.NodeBootstrapSpec{NodePoolName: s.np.Name, ConfigName: configName, Version: version},
		}},
	}, nil
}
