package clustermanifests

import (
	"crypto/rand"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Keys of the Secrets and ConfigMaps, which the operator reads.
const (
	sshPublicKeyFile  = "id_rsa.pub"
	encryptionKeyFile = "key"
	trustBundleFile   = "ca-bundle.crt"
)

// encryptionKeySize is the key size, in bytes, that the API server requires for aescbc with 256 bits.
const encryptionKeySize = 32

// EmptyPullSecret is for images that need no credentials.
const EmptyPullSecret = `{"auths":{}}`

// NewEncryptionKey returns a random key for Cluster.EncryptionKey.
func NewEncryptionKey() ([]byte, error) {
	key := make([]byte, encryptionKeySize)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("generating the encryption key: %w", err)
	}
	return key, nil
}

func (c Cluster) pullSecretName() string  { return c.Name + "-pull-secret" }
func (c Cluster) sshKeyName() string      { return c.Name + "-ssh-key" }
func (c Cluster) trustBundleName() string { return c.Name + "-user-ca-bundle" }
func (c Cluster) proxyCAName() string     { return c.Name + "-proxy-ca" }

// EncryptionKeyName returns the name of the Secret with EncryptionKey.
func (c Cluster) EncryptionKeyName() string { return c.Name + "-etcd-encryption-key" }

// contents returns the objects to which the HostedCluster refers.
func (c Cluster) contents() []client.Object {
	objects := []client.Object{c.secret(c.pullSecretName(), corev1.SecretTypeDockerConfigJson, corev1.DockerConfigJsonKey, c.PullSecret)}
	if len(c.SSHPublicKey) > 0 {
		objects = append(objects, c.secret(c.sshKeyName(), corev1.SecretTypeOpaque, sshPublicKeyFile, c.SSHPublicKey))
	}
	if c.IAM.KMSKeyARN == "" {
		objects = append(objects, c.secret(c.EncryptionKeyName(), corev1.SecretTypeOpaque, encryptionKeyFile, c.EncryptionKey))
	}
	if len(c.TrustBundle) > 0 {
		objects = append(objects, c.bundle(c.trustBundleName(), string(c.TrustBundle)))
	}
	if c.Infra.ProxyCA != "" {
		objects = append(objects, c.bundle(c.proxyCAName(), c.Infra.ProxyCA))
	}
	return objects
}

func (c Cluster) bundle(name, certificates string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: c.deletable(name),
		Data:       map[string]string{trustBundleFile: certificates},
	}
}

func (c Cluster) deletable(name string) metav1.ObjectMeta {
	meta := c.meta(name)
	meta.Labels[DeletableLabel] = "true"
	return meta
}

func (c Cluster) secret(name string, kind corev1.SecretType, key string, value []byte) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: c.deletable(name),
		Type:       kind,
		Data:       map[string][]byte{key: value},
	}
}
