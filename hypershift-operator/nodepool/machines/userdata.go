package machines

import (
	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func desiredConfig(s *Spec) (*corev1.Secret, error) {
	hash, err := s.UserData.Hash()
	if err != nil {
		return nil, err
	}
	data, err := s.UserData.Encode()
	if err != nil {
		return nil, err
	}
	return &corev1.Secret{
		ObjectMeta: s.meta(configPrefix + s.NodePool.Name + "-" + hash),
		Type:       corev1.SecretTypeOpaque,
		Data:       data,
	}, nil
}

const configPrefix = "node-config-"

// desiredBootstrap is named after the version of the nodes and the format of the user data, too: its spec cannot be changed.
func desiredBootstrap(s *Spec, configName string) (*hyperv1.NodeBootstrapTemplate, error) {
	spec := hyperv1.NodeBootstrapSpec{NodePoolName: s.NodePool.Name, ConfigName: configName, Version: NodeVersion(s.Release)}
	named := []string{spec.Version}
	if s.UserDataFormat == hyperv1.UserDataFormatCloudConfig { // templates with Ignition have the names of earlier versions
		spec.UserDataFormat = s.UserDataFormat
		named = append(named, string(s.UserDataFormat))
	}
	if spec.Programs = s.Programs; spec.Programs != nil {
		named = append(named, spec.Programs.Digest)
	}
	hash, err := s.UserData.Hash(named...)
	if err != nil {
		return nil, err
	}
	meta := s.clusterMeta(s.NodePool.Name + "-" + hash)
	meta.Annotations[hyperv1.ReleaseVersionAnnotation] = s.Release.Version
	return &hyperv1.NodeBootstrapTemplate{
		ObjectMeta: meta,
		Spec: hyperv1.NodeBootstrapTemplateSpec{Template: hyperv1.NodeBootstrapTemplateResource{
			Spec: spec,
		}},
	}, nil
}
