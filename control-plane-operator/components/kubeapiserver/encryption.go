package kubeapiserver

import (
	"encoding/base64"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/secretencryption"
)

// The part of apiserver.config.k8s.io/v1 that encryption needs.
type (
	encryptionConfiguration struct {
		APIVersion string              `json:"apiVersion"`
		Kind       string              `json:"kind"`
		Resources  []encryptedResource `json:"resources"`
	}
	encryptedResource struct {
		Resources []string             `json:"resources"`
		Providers []encryptionProvider `json:"providers"`
	}
	encryptionProvider struct {
		AESCBC   *aescbc      `json:"aescbc,omitempty"`
		KMS      *kmsProvider `json:"kms,omitempty"`
		Identity *struct{}    `json:"identity,omitempty"`
	}
	aescbc struct {
		Keys []aesKey `json:"keys"`
	}
	aesKey struct {
		Name   string `json:"name"`
		Secret string `json:"secret"`
	}
)

const (
	// EncryptionSecret is the Secret with the encryption configuration and the keys.
	EncryptionSecret = "kas-secret-encryption"
	// EncryptionAnnotation is an annotation on the API server pods: the fingerprint of the encryption
	// configuration with which they were started.
	EncryptionAnnotation = "hypershift.openshift.io/encryption-configuration"
	encryptionFile       = "config.yaml"
	// aesKeyKey is the key in the user's Secret. Its value has aesKeySize bytes.
	aesKeyKey  = "key"
	aesKeySize = 32
)

// EncryptedResources are the resources that are encrypted.
var EncryptedResources = []string{"secrets"}

func encrypts(env *target.ControlPlane) bool { return env.HCP.Spec.SecretEncryption != nil }

// adaptEncryption writes the encryption configuration. The API server writes with the first provider, and uses the
// others only to read.
func adaptEncryption(env *target.ControlPlane, s *corev1.Secret) error {
	data, err := encryptionData(env)
	s.Data = data
	return err
}

// encryptionData returns the configuration that follows from the status, with the bytes of its keys. It fails if a key
// that may be needed is missing.
func encryptionData(env *target.ControlPlane) (map[string][]byte, error) {
	desired, err := desiredEncryption(env)
	if err != nil {
		return nil, err
	}
	providers, err := encryptionProviders(env, desired)
	if err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(encryptionConfiguration{
		APIVersion: "apiserver.config.k8s.io/v1", Kind: "EncryptionConfiguration",
		Resources: []encryptedResource{{Resources: EncryptedResources, Providers: providers}},
	})
	if err != nil {
		return nil, fmt.Errorf("writing the encryption configuration: %w", err)
	}
	data := map[string][]byte{encryptionFile: text}
	if arns := kmsKeys(desired); len(arns) > 0 {
		data[kmsKeysKey] = []byte(strings.Join(arns, "\n"))
	}
	return data, nil
}

// desiredEncryption returns the keys in their order. The encryption controller decides in stages which key is the first,
// and waits for the API servers in between.
func desiredEncryption(env *target.ControlPlane) (secretencryption.Configuration, error) {
	st := env.HCP.Status.SecretEncryptionRecord
	if st == nil {
		return secretencryption.Configuration{}, fmt.Errorf("status.secretEncryptionRecord has no keys yet; EtcdDataEncryptionUpToDate has the reason")
	}
	present, err := ConfiguredKeys(env.Secrets[EncryptionSecret])
	if err != nil {
		return secretencryption.Configuration{}, err
	}
	// The keys in the status are valid even if the keys in the spec are not.
	_, backup, _ := SpecKeys(env.HCP, env.Secrets)
	var keys []secretencryption.Key
	if present != nil {
		keys = present.Keys
	}
	return secretencryption.Desired(st, backup, keys), nil
}

// encryptionProviders returns the providers of the keys, and the identity provider for plain text.
func encryptionProviders(env *target.ControlPlane, desired secretencryption.Configuration) ([]encryptionProvider, error) {
	inTheClear := encryptionProvider{Identity: &struct{}{}}
	var providers []encryptionProvider
	if desired.InTheClear {
		providers = append(providers, inTheClear)
	}
	for _, key := range desired.Keys {
		if key.Provider == hyperv1.KMS {
			providers = append(providers, kmsProviderOf(key.Name))
			continue
		}
		aes, err := aesKeyOf(env, key)
		if err != nil {
			return nil, err
		}
		if last := len(providers) - 1; last >= 0 && providers[last].AESCBC != nil {
			providers[last].AESCBC.Keys = append(providers[last].AESCBC.Keys, aes)
		} else {
			providers = append(providers, encryptionProvider{AESCBC: &aescbc{Keys: []aesKey{aes}}})
		}
	}
	if !desired.InTheClear {
		providers = append(providers, inTheClear)
	}
	return providers, nil
}

// aesKeyPrefix is the prefix of a key's name in the configuration. The fingerprint of the key follows. Encrypted data
// starts with this name, so it must not depend on the name of the user's Secret, which may change.
const aesKeyPrefix = "key-"

// aesKeyOf returns the bytes of a key from the existing configuration, or else from a copy of the user's Secret, which
// stays as long as the key is needed.
func aesKeyOf(env *target.ControlPlane, key secretencryption.Key) (aesKey, error) {
	found := aesKey{Name: aesKeyPrefix + key.Fingerprint}
	config, err := readEncryption(env.Secrets[EncryptionSecret])
	if err != nil {
		return found, err
	}
	for _, existing := range config.aesKeys() {
		bytes, err := base64.StdEncoding.DecodeString(existing.Secret)
		if err == nil && secretencryption.Fingerprint(bytes) == key.Fingerprint {
			found.Secret = existing.Secret
			return found, nil
		}
	}
	for _, s := range env.Secrets {
		if bytes := s.Data[aesKeyKey]; len(bytes) == aesKeySize && secretencryption.Fingerprint(bytes) == key.Fingerprint {
			found.Secret = base64.StdEncoding.EncodeToString(bytes)
			return found, nil
		}
	}
	return found, &MissingKeyError{key}
}

// A MissingKeyError reports a key that is in no Secret.
type MissingKeyError struct{ Key secretencryption.Key }

func (e *MissingKeyError) Error() string {
	return fmt.Sprintf("the key with fingerprint %s, last seen in Secret %s, may have encrypted Secrets and is in no Secret any more: create the HostedCluster's Secret %s again with the same 32 bytes under %s",
		e.Key.Fingerprint, e.Key.Name, e.Key.Name, aesKeyKey)
}

// CheckKeys returns a MissingKeyError if the configuration cannot be written.
func CheckKeys(hcp *hyperv1.HostedControlPlane, secrets map[string]*corev1.Secret) error {
	_, err := encryptionData(&target.ControlPlane{HCP: hcp, Secrets: secrets})
	return err
}

// SpecKeys returns the key in the spec that encrypts Secrets, and the backup key, which is only used to read. A missing
// key is nil.
func SpecKeys(hcp *hyperv1.HostedControlPlane, secrets map[string]*corev1.Secret) (active, backup *secretencryption.Key, err error) {
	switch enc := hcp.Spec.SecretEncryption; {
	case enc == nil:
		return nil, nil, nil
	case enc.Type == hyperv1.AESCBC && enc.AESCBC != nil:
		if ref := enc.AESCBC.BackupKey; ref != nil { //nolint:staticcheck // deprecated, but still supported
			if backup, err = userKey(secrets, "backupKey", ref.Name); err != nil {
				return nil, nil, err
			}
		}
		active, err = userKey(secrets, "activeKey", enc.AESCBC.ActiveKey.Name)
		return active, backup, err
	case enc.Type == hyperv1.KMS && enc.KMS != nil && enc.KMS.AWS != nil:
		aws := enc.KMS.AWS
		if aws.BackupKey != nil { //nolint:staticcheck // deprecated, but still supported
			backup = new(secretencryption.KMS(aws.BackupKey.ARN)) //nolint:staticcheck // deprecated, but still supported
		}
		return new(secretencryption.KMS(aws.ActiveKey.ARN)), backup, nil
	default:
		return nil, nil, fmt.Errorf("secretEncryption is of type %q and has no key: set secretEncryption.aescbc or secretEncryption.kms.aws", enc.Type)
	}
}

func userKey(secrets map[string]*corev1.Secret, field, name string) (*secretencryption.Key, error) {
	s := secrets[name]
	switch {
	case s == nil:
		return nil, fmt.Errorf("Secret %s with secretEncryption.aescbc.%s does not exist", name, field)
	case len(s.Data[aesKeyKey]) != aesKeySize:
		return nil, fmt.Errorf("Secret %s with secretEncryption.aescbc.%s has %d bytes under %s and must have %d", name, field, len(s.Data[aesKeyKey]), aesKeyKey, aesKeySize)
	}
	if source := s.Annotations[hyperv1.CopiedFromAnnotation]; source != "" {
		name = source
	}
	key := secretencryption.AESCBC(name, s.Data[aesKeyKey])
	return &key, nil
}

// ConfiguredKeys returns the keys in an existing configuration, or nil without a configuration.
func ConfiguredKeys(s *corev1.Secret) (*secretencryption.Configuration, error) {
	if s == nil || len(s.Data[encryptionFile]) == 0 {
		return nil, nil
	}
	config, err := readEncryption(s)
	if err != nil {
		return nil, err
	}
	found := &secretencryption.Configuration{}
	for i, p := range config.providers() {
		switch {
		case p.Identity != nil:
			found.InTheClear = found.InTheClear || i == 0
		case p.AESCBC != nil:
			for _, key := range p.AESCBC.Keys {
				found.Keys = append(found.Keys, secretencryption.Key{Provider: hyperv1.AESCBC, Name: key.Name, Fingerprint: strings.TrimPrefix(key.Name, aesKeyPrefix)})
			}
		case p.KMS != nil:
			key, err := kmsKeyNamed(s, p.KMS.Name)
			if err != nil {
				return nil, err
			}
			found.Keys = append(found.Keys, key)
		}
	}
	return found, nil
}

// EncryptionFingerprint returns the fingerprint of the configuration in its Secret.
func EncryptionFingerprint(s *corev1.Secret) string {
	return secretencryption.Fingerprint(s.Data[encryptionFile])
}

func readEncryption(s *corev1.Secret) (encryptionConfiguration, error) {
	var config encryptionConfiguration
	if s == nil {
		return config, nil
	}
	if err := yaml.Unmarshal(s.Data[encryptionFile], &config); err != nil {
		return config, fmt.Errorf("reading the keys that were used before from Secret %s: %w", EncryptionSecret, err)
	}
	return config, nil
}

func (c encryptionConfiguration) providers() []encryptionProvider {
	var all []encryptionProvider
	for _, r := range c.Resources {
		all = append(all, r.Providers...)
	}
	return all
}

func (c encryptionConfiguration) aesKeys() []aesKey {
	var all []aesKey
	for _, p := range c.providers() {
		if p.AESCBC != nil {
			all = append(all, p.AESCBC.Keys...)
		}
	}
	return all
}

// addEncryption configures the encryption of Secrets. With keys of AWS KMS it adds the KMS plugins.
func addEncryption(env *target.ControlPlane, p *pod) error {
	if !encrypts(env) {
		return nil
	}
	data, err := encryptionData(env)
	if err != nil {
		return err
	}
	p.annotations[EncryptionAnnotation] = secretencryption.Fingerprint(data[encryptionFile])
	p.arg("--encryption-provider-config=" + p.mountSecret("encryption", EncryptionSecret) + "/" + encryptionFile)
	if arns := strings.Fields(string(data[kmsKeysKey])); len(arns) > 0 {
		return addKMS(env, p, arns)
	}
	return nil
}
