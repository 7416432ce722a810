package kubeapiserver

import (
	"errors"
	"slices"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target/targettest"
	"github.com/hosted-control-planes/hypershift/internal/component"
)

func TestInvalidConfigurationIsRejected(t *testing.T) {
	for name, c := range map[string]struct {
		given func(*target.ControlPlane)
		want  string
	}{
		"nobody has recorded which keys are in use": {
			given: func(env *target.ControlPlane) { encrypted(env); env.HCP.Status.SecretEncryptionRecord = nil },
			want:  "status.secretEncryptionRecord has no keys yet; EtcdDataEncryptionUpToDate has the reason",
		},
		"a key that may have encrypted something is nowhere": {
			given: func(env *target.ControlPlane) { encrypted(env); delete(env.Secrets, "copied-new") },
			want:  "last seen in Secret copied-new, may have encrypted Secrets and is in no Secret any more: create the HostedCluster's Secret copied-new again with the same 32 bytes",
		},
		"a key that may have encrypted something has other bytes": {
			given: func(env *target.ControlPlane) { encrypted(env); has(env, "copied-new", aesKeyKey, "short") },
			want:  "is in no Secret any more",
		},
		"the ARN of a provider is lost": {
			given: func(env *target.ControlPlane) {
				encryptedByAWS(env)
				env.Secrets[EncryptionSecret] = configOf(nil, env)
				delete(env.Secrets[EncryptionSecret].Data, kmsKeysKey)
			},
			want: "but its key kms-keys does not list the ARN: restore the ARN",
		},
		"the previous keys cannot be read": {
			given: func(env *target.ControlPlane) { encrypted(env); has(env, EncryptionSecret, encryptionFile, "{") },
			want:  "reading the keys that were used before from Secret kas-secret-encryption",
		},
		"the payload has no plugin for keys of AWS": {
			given: func(env *target.ControlPlane) { encryptedByAWS(env); delete(env.Release.Components, kmsImage) },
			want:  "secretEncryption is of type kms, but release 1.36.3 has no image aws-kms-provider",
		},
		"the authority of the provider is missing": {
			given: func(env *target.ControlPlane) { withProvider(env); delete(env.ConfigMaps, "copied-idp-ca") },
			want:  "oidcProviders has idp: its certificate authority, ConfigMap copied-idp-ca with key ca-bundle.crt, does not exist",
		},
		"the provider wants to be asked for claims": {
			given: func(env *target.ControlPlane) {
				withProvider(env)
				env.HCP.Spec.Configuration.Authentication.OIDCProviders[0].ExternalClaimsSources = []configv1.ExternalClaimsSource{{}}
			},
			want: "externalClaimsSources, which Kubernetes does not support",
		},
		"an issuer in the cluster's network that is not a provider": {
			given: func(env *target.ControlPlane) {
				withProvider(env)
				env.HCP.Annotations = map[string]string{hyperv1.OIDCProvidersInClusterNetworkAnnotation: "idp, another"}
			},
			want: `names "another", which is not in configuration.authentication.oidcProviders`,
		},
		"a rule about claims asks for nothing": {
			given: func(env *target.ControlPlane) {
				withProvider(env)
				env.HCP.Spec.Configuration.Authentication.OIDCProviders[0].ClaimValidationRules = []configv1.TokenClaimValidationRule{{Type: configv1.TokenValidationRuleTypeCEL}}
			},
			want: "a claim validation rule of type CEL without its content",
		},
		"the user's authority for clients is missing": {
			given: func(env *target.ControlPlane) { configured(env); delete(env.ConfigMaps, "copied-clients") },
			want:  "configuration.apiServer.clientCA names ConfigMap copied-clients, which has no ca-bundle.crt",
		},
		"an audit profile that there is not": {
			given: func(env *target.ControlPlane) {
				configured(env)
				env.HCP.Spec.Configuration.APIServer.Audit.Profile = "All"
			},
			want: `configuration.apiServer.audit has profile "All"`,
		},
		"an audit profile of a group that there is not": {
			given: func(env *target.ControlPlane) {
				configured(env)
				env.HCP.Spec.Configuration.APIServer.Audit.CustomRules[0].Profile = "All"
			},
			want: `configuration.apiServer.audit has profile "All"`,
		},
		"a TLS profile that there is not": {given: withTLS(configv1.TLSSecurityProfile{Type: "Ancient"}), want: `tlsSecurityProfile is of type "Ancient"`},
		"ciphers without which there is no HTTP/2": {
			given: withTLS(custom(configv1.VersionTLS12, "ECDHE-ECDSA-AES256-GCM-SHA384")), want: "HTTP/2 requires one of them",
		},
	} {
		t.Run(name, func(t *testing.T) {
			env := targettest.Env()
			c.given(env)
			_, err := component.Render(Component, env)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if errors.As(err, new(*component.MissingImagesError)) {
				t.Error("the API server would be removed")
			}
		})
	}
}

func withTLS(profile configv1.TLSSecurityProfile) func(*target.ControlPlane) {
	return func(env *target.ControlPlane) {
		configured(env)
		env.HCP.Spec.Configuration.APIServer.TLSSecurityProfile = &profile
	}
}

func custom(version configv1.TLSProtocolVersion, ciphers ...string) configv1.TLSSecurityProfile {
	return configv1.TLSSecurityProfile{Type: configv1.TLSProfileCustomType, Custom: &configv1.CustomTLSProfile{
		TLSProfileSpec: configv1.TLSProfileSpec{Ciphers: ciphers, MinTLSVersion: version},
	}}
}

func TestTLSProfiles(t *testing.T) {
	for name, c := range map[string]struct {
		profile configv1.TLSSecurityProfile
		want    []string
	}{
		"of a kind": {configv1.TLSSecurityProfile{Type: configv1.TLSProfileModernType}, []string{"--tls-min-version=VersionTLS13"}},
		"the user's own": {
			custom(configv1.VersionTLS12, "ECDHE-RSA-AES128-GCM-SHA256", "TLS_AES_128_GCM_SHA256", "AES128-SHA", "DHE-RSA-AES128-GCM-SHA256"),
			[]string{"--tls-min-version=VersionTLS12", "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_RSA_WITH_AES_128_CBC_SHA"},
		},
		"with ciphers that cannot be chosen": {custom(configv1.VersionTLS12, "TLS_AES_128_GCM_SHA256"), []string{"--tls-min-version=VersionTLS12"}},
	} {
		t.Run(name, func(t *testing.T) {
			env := targettest.Env()
			withTLS(c.profile)(env)
			var got []string
			for _, arg := range args(t, env) {
				if strings.HasPrefix(arg, "--tls-min") || strings.HasPrefix(arg, "--tls-ci") {
					got = append(got, arg)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func args(t *testing.T, env *target.ControlPlane) []string {
	t.Helper()
	objs, err := component.Render(Component, env)
	if err != nil {
		t.Fatal(err)
	}
	pod := podOf(objs)
	return pod.Containers[0].Args
}

func TestUserNamesArePrefixed(t *testing.T) {
	for name, c := range map[string]struct {
		claim      configv1.UsernameClaimMapping
		wantPrefix string
	}{
		"of a claim that others have too":  {configv1.UsernameClaimMapping{Claim: "sub"}, "https://idp.example.com#"},
		"that are addresses of a mailbox":  {configv1.UsernameClaimMapping{Claim: "email"}, ""},
		"that are to be as they are":       {configv1.UsernameClaimMapping{Claim: "sub", PrefixPolicy: configv1.NoPrefix}, ""},
		"that begin as the user has it":    {configv1.UsernameClaimMapping{Claim: "sub", PrefixPolicy: configv1.Prefix, Prefix: &configv1.UsernamePrefix{PrefixString: "idp:"}}, "idp:"},
		"that are worked out, not claimed": {configv1.UsernameClaimMapping{Expression: "claims.sub"}, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			p := configv1.OIDCProvider{Issuer: configv1.TokenIssuer{URL: "https://idp.example.com"}}
			p.ClaimMappings.Username = c.claim
			got := username(p)
			switch {
			case c.wantPrefix == "none":
				if got.Prefix != nil || got.Expression != c.claim.Expression {
					t.Errorf("got %+v", got)
				}
			case got.Prefix == nil || *got.Prefix != c.wantPrefix:
				t.Errorf("got %+v, want prefix %q", got, c.wantPrefix)
			}
		})
	}
}

// Only the issuers that the annotation names are reached through the tunnels: others may be in networks that no node reaches.
func TestIssuersInTheClusterNetworkAreReachedThroughTheTunnels(t *testing.T) {
	env := targettest.Env()
	withProvider(env)
	providers := &env.HCP.Spec.Configuration.Authentication.OIDCProviders
	other := (*providers)[0]
	other.Name, other.Issuer.URL = "other", "https://other.example.com"
	*providers = append(*providers, other)
	env.HCP.Annotations = map[string]string{hyperv1.OIDCProvidersInClusterNetworkAnnotation: " idp "}
	cm := &corev1.ConfigMap{}
	if err := adaptAuthentication(env, cm); err != nil {
		t.Fatal(err)
	}
	var config authenticationConfiguration
	if err := yaml.Unmarshal([]byte(cm.Data[authenticationFile]), &config); err != nil {
		t.Fatal(err)
	}
	if idp, other := config.JWT[0].Issuer.EgressSelectorType, config.JWT[1].Issuer.EgressSelectorType; idp != "cluster" || other != "" {
		t.Errorf("the issuers are reached through %q and %q", idp, other)
	}
}
