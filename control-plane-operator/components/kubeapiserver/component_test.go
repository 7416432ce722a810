package kubeapiserver

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target/targettest"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

func TestGolden(t *testing.T) {
	targettest.Golden(t, Component,
		targettest.Single,
		targettest.HighlyAvailable,
		targettest.Case{Name: "ipv6", Adapt: func(env *target.ControlPlane) {
			env.HCP.Spec.Networking.ServiceNetwork = []hyperv1.ServiceNetworkEntry{{CIDR: "fd02::/112"}}
		}},
		targettest.Case{Name: "dual-stack", Adapt: func(env *target.ControlPlane) {
			n := &env.HCP.Spec.Networking
			n.ServiceNetwork = append(n.ServiceNetwork, hyperv1.ServiceNetworkEntry{CIDR: "fd02::/112"})
			n.APIServer = &hyperv1.APIServerNetworking{AdvertiseAddress: ptr.To("172.22.0.9")}
		}},
		targettest.Case{Name: "unmanaged-etcd", Adapt: ownEtcd},
		targettest.Case{Name: "aescbc", Adapt: encrypted},
		targettest.Case{Name: "kms", Adapt: encryptedByAWS},
		targettest.Case{Name: "oidc", Adapt: withProvider},
		targettest.Case{Name: "sized", Adapt: sized},
		targettest.Case{Name: "everything-configured", Adapt: func(env *target.ControlPlane) {
			configured(env)
			targettest.Trusting(env)
		}},
	)
}

// sized replaces values of the asset, and values that depend on the number of replicas.
func sized(env *target.ControlPlane) {
	targettest.HighlyAvailable.Adapt(env)
	for annotation, value := range map[string]string{
		hyperv1.KubeAPIServerGOGCAnnotation: "100", hyperv1.KubeAPIServerGOMemLimitAnnotation: "3GiB", hyperv1.KubeAPIServerGoAwayChanceAnnotation: "0.01",
		hyperv1.KubeAPIServerMaxRequestsInFlightAnnotation: "6000", hyperv1.KubeAPIServerMaxMutatingRequestsInFlightAnnotation: "2000",
		hyperv1.KubeAPIServerServiceAccountTokenMaxExpirationAnnotation: "24h", hyperv1.KubeAPIServerVerbosityLevelAnnotation: "3",
		hyperv1.ResourceRequestOverrideAnnotationPrefix + "/kube-apiserver.kube-apiserver": "cpu=2,memory=4Gi",
	} {
		env.HCP.Annotations[annotation] = value
	}
}

func TestAccessModeDoesNotChangeThePods(t *testing.T) {
	public, private := targettest.Env(), targettest.Env()
	public.HCP.Spec.Platform.AWS.EndpointAccess = hyperv1.Public
	private.HCP.Spec.Platform.AWS.EndpointAccess = hyperv1.Private
	private.API = target.Host{Name: names.LocalAPI("demo"), Port: 6443}
	before, err := component.Render(Component, public)
	if err != nil {
		t.Fatal(err)
	}
	after, err := component.Render(Component, private)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
}

// Nodes of older releases have self-signed serving certificates. Their logs must be readable until they are replaced.
func TestKubeletsAreVerifiedWhenTheStatusAllowsIt(t *testing.T) {
	const flag = "--kubelet-certificate-authority=/etc/kubernetes/kubelet-ca/ca.crt"
	args := func(env *target.ControlPlane) []string {
		t.Helper()
		objs, err := component.Render(Component, env)
		if err != nil {
			t.Fatal(err)
		}
		for _, obj := range objs {
			if d, ok := obj.(*appsv1.Deployment); ok {
				return component.Container(&d.Spec.Template.Spec, names.KubeAPIServer).Args
			}
		}
		t.Fatal("there is no Deployment")
		return nil
	}
	if !slices.Contains(args(targettest.Env()), flag) {
		t.Errorf("without %s", flag)
	}
	before := targettest.Env()
	before.HCP.Status.KubeletVerification = ""
	if got := args(before); slices.ContainsFunc(got, func(arg string) bool { return strings.HasPrefix(arg, "--kubelet-certificate-authority") }) {
		t.Errorf("nodes of before are not reached with %v", got)
	}
	without := targettest.Env()
	delete(without.ConfigMaps, names.KubeletServingCA)
	if _, err := component.Render(Component, without); err == nil {
		t.Error("without the authority the verification ends, and nobody notices")
	}
}

func ownEtcd(env *target.ControlPlane) {
	env.HCP.Spec.Etcd = hyperv1.EtcdSpec{ManagementType: hyperv1.Unmanaged, Unmanaged: &hyperv1.UnmanagedEtcdSpec{
		Endpoint: "https://etcd.example.com:2379",
		TLS:      hyperv1.EtcdTLSConfig{ClientSecret: corev1.LocalObjectReference{Name: "copied-etcd"}},
	}}
}

// has adds a Secret next to the control plane.
func has(env *target.ControlPlane, name, key, value string) {
	env.Secrets[name] = &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: env.HCP.Namespace, Name: name}, Data: map[string][]byte{key: []byte(value)},
	}
}

const (
	oneKey     = "0123456789abcdef0123456789abcdef"
	anotherKey = "fedcba9876543210fedcba9876543210"
)

func encrypted(env *target.ControlPlane) {
	has(env, "copied-new", aesKeyKey, oneKey)
	has(env, "copied-old", aesKeyKey, anotherKey)
	env.HCP.Spec.SecretEncryption = &hyperv1.SecretEncryptionSpec{Type: hyperv1.AESCBC, AESCBC: &hyperv1.AESCBCSpec{
		ActiveKey: corev1.LocalObjectReference{Name: "copied-new"}, BackupKey: &corev1.LocalObjectReference{Name: "copied-old"}, //nolint:staticcheck // deprecated, but still supported
	}}
	settled(env)
}

// settled records the user's key as the current one.
func settled(env *target.ControlPlane) {
	active, _, err := SpecKeys(env.HCP, env.Secrets)
	if err != nil {
		panic(err)
	}
	env.HCP.Status.SecretEncryptionRecord = &hyperv1.SecretEncryptionRecord{ActiveKey: active, History: []hyperv1.SecretEncryptionMigration{{
		State: hyperv1.SecretEncryptionMigrationCompleted, To: *active, Stage: hyperv1.SecretEncryptionDone, CompletionTime: &metav1.Time{},
	}}}
}

// moving starts a change from the key in the status to the key in the spec, which is in a Secret of the namespace.
func moving(env *target.ControlPlane, stage hyperv1.SecretEncryptionStage) {
	to, _, err := SpecKeys(env.HCP, env.Secrets)
	if err != nil {
		panic(err)
	}
	st := env.HCP.Status.SecretEncryptionRecord
	if st == nil {
		st = &hyperv1.SecretEncryptionRecord{}
	}
	env.HCP.Status.SecretEncryptionRecord = &hyperv1.SecretEncryptionRecord{ActiveKey: st.ActiveKey, TargetKey: to, History: append([]hyperv1.SecretEncryptionMigration{{
		State: hyperv1.SecretEncryptionMigrationInProgress, From: st.ActiveKey, To: *to, Stage: stage,
	}}, st.History...)}
}

func encryptedByAWS(env *target.ControlPlane) {
	env.Release.Components[kmsImage] = "registry.example.com/aws-kms-provider:1.36.3"
	env.HCP.Spec.SecretEncryption = &hyperv1.SecretEncryptionSpec{Type: hyperv1.KMS, KMS: &hyperv1.KMSSpec{Provider: hyperv1.AWSKMS, AWS: &hyperv1.AWSKMSSpec{
		Region:    "us-east-1",
		ActiveKey: hyperv1.AWSKMSKeyEntry{ARN: "arn:aws:kms:us-east-1:123456789012:key/new"},
		BackupKey: &hyperv1.AWSKMSKeyEntry{ARN: "arn:aws:kms:us-east-1:123456789012:key/old"}, //nolint:staticcheck // deprecated, but still supported
		Auth:      hyperv1.AWSKMSAuthSpec{AWSKMSRoleARN: "arn:aws:iam::123456789012:role/kms"},
	}}}
	settled(env)
}

func withProvider(env *target.ControlPlane) {
	env.ConfigMaps["copied-idp-ca"] = &corev1.ConfigMap{Data: map[string]string{trustBundleKey: "-----BEGIN CERTIFICATE-----\n"}}
	env.HCP.Spec.Configuration = &hyperv1.ClusterConfiguration{Authentication: &configv1.AuthenticationSpec{
		Type: configv1.AuthenticationTypeOIDC,
		OIDCProviders: []configv1.OIDCProvider{{
			Name: "idp",
			Issuer: configv1.TokenIssuer{
				URL: "https://idp.example.com", Audiences: []configv1.TokenAudience{"console", "cli"},
				CertificateAuthority: configv1.ConfigMapNameReference{Name: "copied-idp-ca"},
			},
			ClaimMappings: configv1.TokenClaimMappings{
				Username: configv1.UsernameClaimMapping{Claim: "sub"},
				Groups:   configv1.PrefixedClaimMapping{TokenClaimMapping: configv1.TokenClaimMapping{Claim: "groups"}, Prefix: "idp:"},
				Extra:    []configv1.ExtraMapping{{Key: "example.com/team", ValueExpression: "claims.team"}},
			},
			ClaimValidationRules: []configv1.TokenClaimValidationRule{
				{Type: configv1.TokenValidationRuleTypeRequiredClaim, RequiredClaim: &configv1.TokenRequiredClaim{Claim: "org", RequiredValue: "acme"}},
				{Type: configv1.TokenValidationRuleTypeCEL, CEL: configv1.TokenClaimValidationCELRule{Expression: "claims.hd == 'acme'", Message: "not one of us"}},
			},
			UserValidationRules: []configv1.TokenUserValidationRule{{Expression: "!user.username.startsWith('system:')", Message: "reserved"}},
		}},
	}}
}

func configured(env *target.ControlPlane) {
	has(env, "copied-audit", auditWebhookKey, "a kubeconfig")
	env.ConfigMaps[names.ClientCA] = &corev1.ConfigMap{Data: map[string]string{pki.TrustKey: "ours\n"}}
	env.ConfigMaps["copied-clients"] = &corev1.ConfigMap{Data: map[string]string{trustBundleKey: "theirs\n"}}
	env.HCP.Spec.AuditWebhook = &corev1.LocalObjectReference{Name: "copied-audit"}
	env.HCP.Spec.Configuration = &hyperv1.ClusterConfiguration{
		APIServer: &configv1.APIServerSpec{
			AdditionalCORSAllowedOrigins: []string{`//console\.example\.com$`, `//a{1,2}\.example\.com$`},
			Audit: configv1.Audit{Profile: configv1.WriteRequestBodiesAuditProfileType, CustomRules: []configv1.AuditCustomRule{
				{Group: "system:authenticated:oauth", Profile: configv1.AllRequestBodiesAuditProfileType}, {Group: "robots", Profile: configv1.NoneAuditProfileType},
			}},
			ServingCerts: configv1.APIServerServingCerts{NamedCertificates: []configv1.APIServerNamedServingCert{
				{Names: []string{"api.example.com", "*.api.example.com"}, ServingCertificate: configv1.SecretNameReference{Name: "copied-named"}},
				{ServingCertificate: configv1.SecretNameReference{Name: "copied-unnamed"}},
			}},
			ClientCA:           configv1.ConfigMapNameReference{Name: "copied-clients"},
			TLSSecurityProfile: &configv1.TLSSecurityProfile{Type: configv1.TLSProfileModernType},
		},
		Authentication: &configv1.AuthenticationSpec{
			Type:                      configv1.AuthenticationTypeNone,
			WebhookTokenAuthenticator: &configv1.WebhookTokenAuthenticator{KubeConfig: configv1.SecretNameReference{Name: "copied-webhook"}},
		},
		FeatureGate: &configv1.FeatureGateSpec{FeatureGateSelection: configv1.FeatureGateSelection{
			FeatureSet: configv1.CustomNoUpgrade, CustomNoUpgrade: &configv1.CustomFeatureGates{Enabled: []configv1.FeatureGateName{"HPAScaleToZero"}, Disabled: []configv1.FeatureGateName{"EnvFiles"}},
		}},
		Network: &configv1.NetworkSpec{ServiceNodePortRange: "30000-31000"},
	}
}
