package kubeapiserver

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/component"
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
	encryptionSecret = "kas-secret-encryption"
	encryptionFile   = "config.yaml"
	// aesKeyKey is where the user's Secret has a key of aesKeySize bytes.
	aesKeyKey  = "key"
	aesKeySize = 32
)

func encrypts(env *component.Env) bool { return env.HCP.Spec.SecretEncryption != nil }

// adaptEncryption writes how Secrets are kept: with the first provider; the
// others open what was kept before.
func adaptEncryption(env *component.Env, s *corev1.Secret) error {
	providers, err := encryptionProviders(env)
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(encryptionConfiguration{
		APIVersion: "apiserver.config.k8s.io/v1", Kind: "EncryptionConfiguration",
		Resources: []encryptedResource{{Resources: []string{"secrets"}, Providers: append(providers, encryptionProvider{Identity: &struct{}{}})}},
	})
	if err != nil {
		return fmt.Errorf("writing the encryption configuration: %w", err)
	}
	s.Data = map[string][]byte{encryptionFile: text}
	if kms := env.HCP.Spec.SecretEncryption.KMS; kms != nil && kms.AWS != nil {
		s.Data[kmsKeysKey] = []byte(strings.Join(kmsKeys(env, *kms.AWS), "\n"))
	}
	return nil
}

func encryptionProviders(env *component.Env) ([]encryptionProvider, error) {
	switch enc := env.HCP.Spec.SecretEncryption; {
	case enc.Type == hyperv1.AESCBC && enc.AESCBC != nil:
		keys, err := aesKeys(env, *enc.AESCBC)
		return []encryptionProvider{{AESCBC: &aescbc{Keys: keys}}}, err
	case enc.Type == hyperv1.KMS && enc.KMS != nil && enc.KMS.AWS != nil:
		return kmsProviders(kmsKeys(env, *enc.KMS.AWS)), nil
	default:
		return nil, fmt.Errorf("secretEncryption is of type %q and has no key: set secretEncryption.aescbc or secretEncryption.kms.aws", enc.Type)
	}
}

// aesKeys are the key that is used now, the one that the user names beside it,
// and all that have been used before: what they encrypted may still be there.
func aesKeys(env *component.Env, spec hyperv1.AESCBCSpec) ([]aesKey, error) {
	active, err := userKey(env, "activeKey", spec.ActiveKey)
	if err != nil {
		return nil, err
	}
	keys := []aesKey{active}
	if backup := spec.BackupKey; backup != nil { //nolint:staticcheck // deprecated, and in use where somebody still sets it
		key, err := userKey(env, "backupKey", *backup)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	before, err := keysBefore(env)
	if err != nil {
		return nil, err
	}
	for _, key := range before {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// userKey names a key after what it is. What was encrypted tells by that name
// which key opens it: the name of the Secret would not survive its renaming.
func userKey(env *component.Env, field string, ref corev1.LocalObjectReference) (aesKey, error) {
	key := env.SecretData(ref.Name, aesKeyKey)
	switch {
	case env.Secrets[ref.Name] == nil:
		return aesKey{}, fmt.Errorf("Secret %s with secretEncryption.aescbc.%s does not exist", ref.Name, field)
	case len(key) != aesKeySize:
		return aesKey{}, fmt.Errorf("Secret %s with secretEncryption.aescbc.%s has %d bytes under %s and must have %d", ref.Name, field, len(key), aesKeyKey, aesKeySize)
	}
	return aesKey{Name: "key-" + fingerprint(key), Secret: base64.StdEncoding.EncodeToString(key)}, nil
}

// keysBefore are those of the configuration that is in use.
func keysBefore(env *component.Env) ([]aesKey, error) {
	var config encryptionConfiguration
	if err := yaml.Unmarshal(env.SecretData(encryptionSecret, encryptionFile), &config); err != nil {
		return nil, fmt.Errorf("reading the keys that were used before from Secret %s: %w", encryptionSecret, err)
	}
	var keys []aesKey
	for _, r := range config.Resources {
		for _, p := range r.Providers {
			if p.AESCBC != nil {
				keys = append(keys, p.AESCBC.Keys...)
			}
		}
	}
	return keys, nil
}

func fingerprint(of []byte) string {
	sum := sha256.Sum256(of)
	return hex.EncodeToString(sum[:8])
}

// addEncryption has it encrypt Secrets, and with keys of AWS beside it who asks
// AWS for them.
func addEncryption(env *component.Env, p *pod) error {
	enc := env.HCP.Spec.SecretEncryption
	if enc == nil {
		return nil
	}
	p.arg("--encryption-provider-config=" + p.mountSecret("encryption", encryptionSecret) + "/" + encryptionFile)
	if enc.KMS != nil && enc.KMS.AWS != nil {
		return addKMS(env, p, *enc.KMS.AWS)
	}
	return nil
}
