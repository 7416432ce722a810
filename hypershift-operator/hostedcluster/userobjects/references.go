package userobjects

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	k8svalidation "k8s.io/apimachinery/pkg/util/validation"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/validation"
)

// Kind is the kind of an object of a user.
type Kind string

// The kinds of objects that a spec names.
const (
	Secret    Kind = "Secret"
	ConfigMap Kind = "ConfigMap"
)

// A Reference is a Secret or a ConfigMap in the namespace of the HostedCluster
// that its spec names.
type Reference struct {
	Field string
	Kind  Kind
	// Name points to the name in the spec.
	Name *string
	// Keys are the required keys.
	Keys []string
	// validate checks the values of the keys; nil accepts all.
	validate func(map[string][]byte) error
	// fixed is the name of the copy, if components expect one; then the copy contains only the required keys.
	fixed string
	// active contents change the behaviour of a control plane program: a fault in them is a fault of the configuration.
	active bool
	// required objects block the creation of everything else while they are invalid.
	required bool
}

func (r Reference) path() *fieldpath.Path { return fieldpath.NewPath(r.Field) }

// copyPrefix separates the names of copies from the names of the operators' objects.
const copyPrefix = "copied-"

// CopyName returns the name of the copy in the namespace of the control plane.
func (r Reference) CopyName() string {
	if r.fixed != "" {
		return r.fixed
	}
	name := copyPrefix + *r.Name
	if len(name) <= k8svalidation.DNS1123SubdomainMaxLength {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	const digits = 16
	return strings.TrimRight(name[:k8svalidation.DNS1123SubdomainMaxLength-digits-1], "-.") + "-" + hex.EncodeToString(sum[:])[:digits]
}

func (r Reference) copyID() string { return string(r.Kind) + "/" + r.CopyName() }

// Keys of the users' objects.
const (
	SSHPublicKeyKey  = "id_rsa.pub"
	AuditWebhookKey  = "webhook-kubeconfig"
	TrustBundleKey   = "ca-bundle.crt"
	EncryptionKeyKey = "key"
	// SigningKeyKey and OldPublicKeyKey are the keys of spec.serviceAccountSigningKey.
	SigningKeyKey   = "key"
	OldPublicKeyKey = "old-key.pub"
	// The keys of the client Secret of an unmanaged etcd.
	EtcdCertKey = "etcd-client.crt"
	EtcdKeyKey  = "etcd-client.key"
	EtcdCAKey   = "etcd-client-ca.crt"
)

// trustBundleOf is the reference to the user's certificate authorities, which must be set.
func trustBundleOf(spec *hyperv1.HostedClusterSpec) Reference {
	return Reference{Field: "spec.additionalTrustBundle", Kind: ConfigMap, Name: &spec.AdditionalTrustBundle.Name,
		Keys: []string{TrustBundleKey}, validate: each(validateBundle), fixed: names.UserCABundle}
}

// PullSecretOf is the reference to the pull secret, which is always set.
func PullSecretOf(spec *hyperv1.HostedClusterSpec) Reference {
	return Reference{Field: "spec.pullSecret", Kind: Secret, Name: &spec.PullSecret.Name,
		Keys: []string{corev1.DockerConfigJsonKey}, validate: each(validatePullSecret), fixed: names.PullSecret}
}

// SigningKeyOf is the reference to the user's signing key, which must be set.
func SigningKeyOf(spec *hyperv1.HostedClusterSpec) Reference {
	return Reference{Field: "spec.serviceAccountSigningKey", Kind: Secret, Name: &spec.ServiceAccountSigningKey.Name,
		Keys: []string{SigningKeyKey}, fixed: names.ServiceAccountSigningKey}
}

// References lists all other objects that the spec names, in the order of its
// fields. Name points into hc.
func References(hc *hyperv1.HostedCluster) []Reference {
	spec := &hc.Spec
	l := &lister{}
	l.add(Reference{Field: "spec.sshKey", Kind: Secret, Name: &spec.SSHKey.Name, Keys: []string{SSHPublicKeyKey}, validate: each(validateSSHKey), fixed: names.SSHKey})
	if spec.AuditWebhook != nil {
		l.add(Reference{Field: "spec.auditWebhook", Kind: Secret, Name: &spec.AuditWebhook.Name, Keys: []string{AuditWebhookKey}, validate: each(validateKubeconfig), active: true})
	}
	if spec.AdditionalTrustBundle != nil {
		l.add(trustBundleOf(spec))
	}
	if enc := spec.SecretEncryption; enc != nil && enc.AESCBC != nil {
		l.encryptionKey("activeKey", &enc.AESCBC.ActiveKey)
		l.encryptionKey("backupKey", enc.AESCBC.BackupKey) //nolint:staticcheck // deprecated, and still accepted
	}
	if ref := unmanagedEtcd(spec); ref != nil {
		l.add(*ref)
	}
	if c := spec.Configuration; c != nil {
		l.apiServer(c.APIServer, validation.ReservedServerNames(hc))
		l.authentication(c.Authentication)
		l.oauth(c.OAuth)
		l.others(c)
		if ref := proxyTrust(spec); ref != nil {
			l.add(*ref)
		}
	}
	return l.found
}

// all lists every object that the spec names.
func all(hc *hyperv1.HostedCluster) []Reference {
	refs := append(References(hc), PullSecretOf(&hc.Spec))
	if hc.Spec.ServiceAccountSigningKey != nil {
		refs = append(refs, SigningKeyOf(&hc.Spec))
	}
	return refs
}

// unmanagedEtcd is nil for a managed etcd.
func unmanagedEtcd(spec *hyperv1.HostedClusterSpec) *Reference {
	if spec.Etcd.Unmanaged == nil {
		return nil
	}
	return &Reference{Field: "spec.etcd.unmanaged.tls.clientSecret", Kind: Secret, Name: &spec.Etcd.Unmanaged.TLS.ClientSecret.Name,
		Keys: []string{EtcdCertKey, EtcdKeyKey, EtcdCAKey}, validate: validateEtcdClient}
}

// proxyTrust is nil if the user has no certificate authorities for a proxy.
func proxyTrust(spec *hyperv1.HostedClusterSpec) *Reference {
	if spec.Configuration == nil || spec.Configuration.Proxy == nil || spec.Configuration.Proxy.TrustedCA.Name == "" {
		return nil
	}
	return &Reference{Field: "spec.configuration.proxy.trustedCA", Kind: ConfigMap, Name: &spec.Configuration.Proxy.TrustedCA.Name,
		Keys: []string{TrustBundleKey}, validate: each(validateBundle)}
}

// lister collects the references of a spec.
type lister struct{ found []Reference }

func (l *lister) add(r Reference) {
	if *r.Name != "" {
		l.found = append(l.found, r)
	}
}

func (l *lister) secret(field string, ref *configv1.SecretNameReference, keys ...string) {
	l.add(Reference{Field: "spec.configuration." + field, Kind: Secret, Name: &ref.Name, Keys: keys})
}

func (l *lister) bundle(field string, ref *configv1.ConfigMapNameReference) {
	l.add(Reference{Field: "spec.configuration." + field, Kind: ConfigMap, Name: &ref.Name, Keys: []string{TrustBundleKey}, validate: each(validateBundle)})
}

func (l *lister) encryptionKey(field string, ref *corev1.LocalObjectReference) {
	if ref != nil {
		l.add(Reference{Field: "spec.secretEncryption.aescbc." + field, Kind: Secret, Name: &ref.Name, Keys: []string{EncryptionKeyKey}, validate: each(validateAESKey), required: true})
	}
}

func (l *lister) apiServer(api *configv1.APIServerSpec, own []string) {
	if api == nil {
		return
	}
	for i := range api.ServingCerts.NamedCertificates {
		c := &api.ServingCerts.NamedCertificates[i]
		l.add(Reference{Field: fmt.Sprintf("spec.configuration.apiServer.servingCerts.namedCertificates[%d].servingCertificate", i), Kind: Secret,
			Name: &c.ServingCertificate.Name, Keys: []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey}, validate: servingCertificate(c.Names, own)})
	}
	l.bundle("apiServer.clientCA", &api.ClientCA)
}

func (l *lister) authentication(auth *configv1.AuthenticationSpec) {
	if auth == nil {
		return
	}
	l.add(Reference{Field: "spec.configuration.authentication.oauthMetadata", Kind: ConfigMap, Name: &auth.OAuthMetadata.Name, Keys: []string{configv1.OAuthMetadataKey}})
	for i := range auth.WebhookTokenAuthenticators {
		l.secret(fmt.Sprintf("authentication.webhookTokenAuthenticators[%d].kubeConfig", i), &auth.WebhookTokenAuthenticators[i].KubeConfig, configv1.KubeConfigKey)
	}
	if auth.WebhookTokenAuthenticator != nil {
		l.add(Reference{Field: "spec.configuration.authentication.webhookTokenAuthenticator.kubeConfig", Kind: Secret,
			Name: &auth.WebhookTokenAuthenticator.KubeConfig.Name, Keys: []string{configv1.KubeConfigKey}, validate: each(validateKubeconfig), active: true})
	}
	for i := range auth.OIDCProviders {
		p, field := &auth.OIDCProviders[i], fmt.Sprintf("authentication.oidcProviders[%d]", i)
		l.bundle(field+".issuer.issuerCertificateAuthority", &p.Issuer.CertificateAuthority)
		for j := range p.OIDCClients {
			l.secret(fmt.Sprintf("%s.oidcClients[%d].clientSecret", field, j), &p.OIDCClients[j].ClientSecret, configv1.ClientSecretKey)
		}
	}
}

func (l *lister) oauth(oauth *configv1.OAuthSpec) {
	if oauth == nil {
		return
	}
	for i := range oauth.IdentityProviders {
		l.identityProvider(fmt.Sprintf("oauth.identityProviders[%d]", i), &oauth.IdentityProviders[i].IdentityProviderConfig)
	}
	l.secret("oauth.templates.login", &oauth.Templates.Login, configv1.LoginTemplateKey)
	l.secret("oauth.templates.providerSelection", &oauth.Templates.ProviderSelection, configv1.ProviderSelectionTemplateKey)
	l.secret("oauth.templates.error", &oauth.Templates.Error, configv1.ErrorsTemplateKey)
}

func (l *lister) identityProvider(field string, p *configv1.IdentityProviderConfig) {
	if p.BasicAuth != nil {
		l.remote(field+".basicAuth", &p.BasicAuth.OAuthRemoteConnectionInfo)
	}
	if p.Keystone != nil {
		l.remote(field+".keystone", &p.Keystone.OAuthRemoteConnectionInfo)
	}
	if p.GitHub != nil {
		l.secret(field+".github.clientSecret", &p.GitHub.ClientSecret, configv1.ClientSecretKey)
		l.bundle(field+".github.ca", &p.GitHub.CA)
	}
	if p.GitLab != nil {
		l.secret(field+".gitlab.clientSecret", &p.GitLab.ClientSecret, configv1.ClientSecretKey)
		l.bundle(field+".gitlab.ca", &p.GitLab.CA)
	}
	if p.Google != nil {
		l.secret(field+".google.clientSecret", &p.Google.ClientSecret, configv1.ClientSecretKey)
	}
	if p.HTPasswd != nil {
		l.secret(field+".htpasswd.fileData", &p.HTPasswd.FileData, configv1.HTPasswdDataKey)
	}
	if p.LDAP != nil {
		l.secret(field+".ldap.bindPassword", &p.LDAP.BindPassword, configv1.BindPasswordKey)
		l.bundle(field+".ldap.ca", &p.LDAP.CA)
	}
	if p.OpenID != nil {
		l.secret(field+".openID.clientSecret", &p.OpenID.ClientSecret, configv1.ClientSecretKey)
		l.bundle(field+".openID.ca", &p.OpenID.CA)
	}
	if p.RequestHeader != nil {
		l.bundle(field+".requestHeader.ca", &p.RequestHeader.ClientCA)
	}
}

func (l *lister) remote(field string, c *configv1.OAuthRemoteConnectionInfo) {
	l.bundle(field+".ca", &c.CA)
	l.secret(field+".tlsClientCert", &c.TLSClientCert, corev1.TLSCertKey)
	l.secret(field+".tlsClientKey", &c.TLSClientKey, corev1.TLSPrivateKeyKey)
}

func (l *lister) others(c *hyperv1.ClusterConfiguration) {
	if c.Image != nil {
		// Its keys are the host names of registries.
		l.add(Reference{Field: "spec.configuration.image.additionalTrustedCA", Kind: ConfigMap, Name: &c.Image.AdditionalTrustedCA.Name})
	}
	if c.Ingress != nil {
		for i := range c.Ingress.ComponentRoutes {
			l.secret(fmt.Sprintf("ingress.componentRoutes[%d].servingCertKeyPairSecret", i), &c.Ingress.ComponentRoutes[i].ServingCertKeyPairSecret, corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
		}
	}
	if c.Scheduler != nil {
		l.add(Reference{Field: "spec.configuration.scheduler.policy", Kind: ConfigMap, Name: &c.Scheduler.Policy.Name})
	}
}

// sourceID identifies an object of a user, for maps and for an index.
func sourceID(kind Kind, namespace, name string) string {
	return string(kind) + "/" + namespace + "/" + name
}
