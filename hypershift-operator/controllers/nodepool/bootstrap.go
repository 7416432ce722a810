package nodepool

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apply"
)

// ensureBootstrap stores the inputs of the user data in a Secret, and creates the template that refers to it. The hash of the
// inputs is part of both names, so that other inputs are another template and other machines.
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
	hash, err := s.inputs.Hash()
	if err != nil {
		return nil, err
	}
	data, err := s.inputs.Encode()
	if err != nil {
		return nil, err
	}
	return &corev1.Secret{
		ObjectMeta: s.meta(configPrefix + s.np.Name + "-" + hash),
		Type:       corev1.SecretTypeOpaque,
		Data:       data,
	}, nil
}

const configPrefix = "node-config-"

// desiredBootstrap is named after the version of the nodes and the format of the user data, too: its spec cannot be changed.
func desiredBootstrap(s *scope, configName string) (*hyperv1.NodeBootstrapTemplate, error) {
	spec := hyperv1.NodeBootstrapSpec{NodePoolName: s.np.Name, ConfigName: configName, Version: nodeVersion(s.release)}
	named := []string{spec.Version}
	if s.format == hyperv1.UserDataFormatCloudConfig { // templates with Ignition have the names of earlier versions
		spec.UserDataFormat = s.format
		named = append(named, string(s.format))
	}
	if spec.Programs = s.programs; spec.Programs != nil {
		named = append(named, spec.Programs.Digest)
	}
	hash, err := s.inputs.Hash(named...)
	if err != nil {
		return nil, err
	}
	meta := s.clusters(s.np.Name + "-" + hash)
	meta.Annotations[hyperv1.ReleaseVersionAnnotation] = s.release.Version
	return &hyperv1.NodeBootstrapTemplate{
		ObjectMeta: meta,
		Spec: hyperv1.NodeBootstrapTemplateSpec{Template: hyperv1.NodeBootstrapTemplateResource{
			Spec: spec,
		}},
	}, nil
}
