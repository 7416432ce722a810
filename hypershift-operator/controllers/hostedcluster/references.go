package hostedcluster

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

type kind string

const (
	inSecret    kind = "Secret"
	inConfigMap kind = "ConfigMap"
)

// A reference is a Secret or a ConfigMap beside the HostedCluster that its spec names.
type reference struct {
	field string
	kind  kind
	// name is where the spec has the name.
	name *string
	// keys must be there.
	keys []string
	// fault says what is wrong with the values of the keys; nil for any value.
	fault func(map[string][]byte) error
	// fixed is the name of the copy, if others know it by a name; then the copy
	// has the keys and nothing else.
	fixed string
	// obeyed says that a program of the control plane acts on the contents: what is
	// wrong with them is wrong with the configuration.
	obeyed bool
	// first says that nothing may be made as long as the object is not in order.
	first bool
}

// copyPrefix keeps the names of copies apart from those of our own objects.
const copyPrefix = "copied-"

// copy is the name of the copy in the control plane's namespace.
func (r reference) copy() string {
	if r.fixed != "" {
		return r.fixed
	}
	name := copyPrefix + *r.name
	if len(name) <= validation.DNS1123SubdomainMaxLength {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	const digits = 16
	return strings.TrimRight(name[:validation.DNS1123SubdomainMaxLength-digits-1], "-.") + "-" + hex.EncodeToString(sum[:])[:digits]
}

// Keys of the user's objects.
const (
	sshKeyKey       = "id_rsa.pub"
	auditWebhookKey = "webhook-kubeconfig"
	bundleKey       = "ca-bundle.crt"
	aescbcKey       = "key"
	etcdCertKey     = "etcd-client.crt"
	etcdKeyKey      = "etcd-client.key"
	etcdCAKey       = "etcd-client-ca.crt"
)

// trustBundleOf is the reference to the user's authorities.
func trustBundleOf(spec *hyperv1.HostedClusterSpec) reference {
	return reference{field: "spec.additionalTrustBundle", kind: inConfigMap, name: &spec.AdditionalTrustBundle.Name,
		keys: []string{bundleKey}, fault: each(faultOfBundle), fixed: names.UserCABundle}
}

// pullSecretOf and signingKeyOf are the references that have steps of their own.
func pullSecretOf(spec *hyperv1.HostedClusterSpec) reference {
	return reference{field: "spec.pullSecret", kind: inSecret, name: &spec.PullSecret.Name,
		keys: []string{corev1.DockerConfigJsonKey}, fault: each(faultOfPullSecret), fixed: names.PullSecret}
}

func signingKeyOf(spec *hyperv1.HostedClusterSpec) reference {
	return reference{field: "spec.serviceAccountSigningKey", kind: inSecret, name: &spec.ServiceAccountSigningKey.Name,
		keys: []string{userPrivateKey}, fixed: names.ServiceAccountSigningKey}
}

// references lists what else the spec names, in the order of its fields. Who
// writes through name changes the spec.
func references(hc *hyperv1.HostedCluster) []reference {
	spec := &hc.Spec
	l := &lister{}
	l.add(reference{field: "spec.sshKey", kind: inSecret, name: &spec.SSHKey.Name, keys: []string{sshKeyKey}, fault: each(faultOfSSHKey), fixed: names.SSHKey})
	if spec.AuditWebhook != nil {
		l.add(reference{field: "spec.auditWebhook", kind: inSecret, name: &spec.AuditWebhook.Name, keys: []string{auditWebhookKey}, fault: each(faultOfKubeconfig), obeyed: true})
	}
	if spec.AdditionalTrustBundle != nil {
		l.add(trustBundleOf(spec))
	}
	if enc := spec.SecretEncryption; enc != nil && enc.AESCBC != nil {
		l.encryptionKey("activeKey", &enc.AESCBC.ActiveKey)
		l.encryptionKey("backupKey", enc.AESCBC.BackupKey) //nolint:staticcheck // deprecated, and in use where somebody still sets it
	}
	if ref := unmanagedEtcd(spec); ref != nil {
		l.add(*ref)
	}
	if c := spec.Configuration; c != nil {
		l.apiServer(c.APIServer, ownNames(hc))
		l.authentication(c.Authentication)
		l.oauth(c.OAuth)
		l.rest(c)
		if ref := proxyTrust(spec); ref != nil {
			l.add(*ref)
		}
	}
	return l.found
}

// unmanagedEtcd is nil for a managed etcd.
func unmanagedEtcd(spec *hyperv1.HostedClusterSpec) *reference {
	if spec.Etcd.Unmanaged == nil {
		return nil
	}
	return &reference{field: "spec.etcd.unmanaged.tls.clientSecret", kind: inSecret, name: &spec.Etcd.Unmanaged.TLS.ClientSecret.Name,
		keys: []string{etcdCertKey, etcdKeyKey, etcdCAKey}, fault: faultOfEtcdClient}
}

// proxyTrust is nil if the user has no certificate authorities for a proxy.
func proxyTrust(spec *hyperv1.HostedClusterSpec) *reference {
	if spec.Configuration == nil || spec.Configuration.Proxy == nil || spec.Configuration.Proxy.TrustedCA.Name == "" {
		return nil
	}
	return &reference{field: "spec.configuration.proxy.trustedCA", kind: inConfigMap, name: &spec.Configuration.Proxy.TrustedCA.Name,
		keys: []string{bundleKey}, fault: each(faultOfBundle)}
}

// lister collects the references of a spec.
type lister struct{ found []reference }

func (l *lister) add(r reference) {
	if *r.name != "" {
		l.found = append(l.found, r)
	}
}

func (l *lister) secret(field string, ref *configv1.SecretNameReference, keys ...string) {
	l.add(reference{field: "spec.configuration." + field, kind: inSecret, name: &ref.Name, keys: keys})
}

func (l *lister) bundle(field string, ref *configv1.ConfigMapNameReference) {
	l.add(reference{field: "spec.configuration." + field, kind: inConfigMap, name: &ref.Name, keys: []string{bundleKey}, fault: each(faultOfBundle)})
}

func (l *lister) encryptionKey(field string, ref *corev1.LocalObjectReference) {
	if ref != nil {
		l.add(reference{field: "spec.secretEncryption.aescbc." + field, kind: inSecret, name: &ref.Name, keys: []string{aescbcKey}, fault: each(faultOfAESKey), first: true})
	}
}

func (l *lister) apiServer(api *configv1.APIServerSpec, own []string) {
	if api == nil {
		return
	}
	for i := range api.ServingCerts.NamedCertificates {
		c := &api.ServingCerts.NamedCertificates[i]
		l.add(reference{field: fmt.Sprintf("spec.configuration.apiServer.servingCerts.namedCertificates[%d].servingCertificate", i), kind: inSecret,
			name: &c.ServingCertificate.Name, keys: []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey}, fault: servingCertificate(c.Names, own)})
	}
	l.bundle("apiServer.clientCA", &api.ClientCA)
}

func (l *lister) authentication(auth *configv1.AuthenticationSpec) {
	if auth == nil {
		return
	}
	l.add(reference{field: "spec.configuration.authentication.oauthMetadata", kind: inConfigMap, name: &auth.OAuthMetadata.Name, keys: []string{configv1.OAuthMetadataKey}})
	for i := range auth.WebhookTokenAuthenticators {
		l.secret(fmt.Sprintf("authentication.webhookTokenAuthenticators[%d].kubeConfig", i), &auth.WebhookTokenAuthenticators[i].KubeConfig, configv1.KubeConfigKey)
	}
	if auth.WebhookTokenAuthenticator != nil {
		l.add(reference{field: "spec.configuration.authentication.webhookTokenAuthenticator.kubeConfig", kind: inSecret,
			name: &auth.WebhookTokenAuthenticator.KubeConfig.Name, keys: []string{configv1.KubeConfigKey}, fault: each(faultOfKubeconfig), obeyed: true})
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

func (l *lister) rest(c *hyperv1.ClusterConfiguration) {
	if c.Image != nil {
		// Its keys are the host names of registries.
		l.add(reference{field: "spec.configuration.image.additionalTrustedCA", kind: inConfigMap, name: &c.Image.AdditionalTrustedCA.Name})
	}
	if c.Ingress != nil {
		for i := range c.Ingress.ComponentRoutes {
			l.secret(fmt.Sprintf("ingress.componentRoutes[%d].servingCertKeyPairSecret", i), &c.Ingress.ComponentRoutes[i].ServingCertKeyPairSecret, corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
		}
	}
	if c.Scheduler != nil {
		l.add(reference{field: "spec.configuration.scheduler.policy", kind: inConfigMap, name: &c.Scheduler.Policy.Name})
	}
}

// sourceID names one of the user's objects, for maps and for an index.
func sourceID(kind kind, namespace, name string) string {
	return string(kind) + "/" + namespace + "/" + name
}
