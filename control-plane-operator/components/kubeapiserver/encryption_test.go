package kubeapiserver

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target/targettest"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/secretencryption"
)

const (
	arnOne = "arn:aws:kms:us-east-1:123456789012:key/new"
	arnTwo = "arn:aws:kms:eu-west-1:123456789012:key/next"
)

// to sets the Secret of another key in the spec.
func to(env *target.ControlPlane, secret, key string) {
	has(env, secret, aesKeyKey, key)
	spec := env.HCP.Spec.SecretEncryption.AESCBC
	spec.ActiveKey, spec.BackupKey = corev1.LocalObjectReference{Name: secret}, nil //nolint:staticcheck // deprecated, but still supported
}

func toARN(env *target.ControlPlane, arn string) {
	aws := env.HCP.Spec.SecretEncryption.KMS.AWS
	aws.ActiveKey.ARN, aws.BackupKey = arn, nil //nolint:staticcheck // deprecated, and in use where somebody still sets it
}

const nextKey = "abcdefghijklmnopqrstuvwxyz012345"

// order lists the providers of a configuration.
func order(t *testing.T, s *corev1.Secret) []string {
	t.Helper()
	config := encryptionConfiguration{}
	if err := yaml.Unmarshal(s.Data[encryptionFile], &config); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range config.providers() {
		switch {
		case p.Identity != nil:
			got = append(got, "identity")
		case p.KMS != nil:
			got = append(got, p.KMS.Name)
		case p.AESCBC != nil:
			for _, key := range p.AESCBC.Keys {
				got = append(got, key.Name)
			}
		}
	}
	return got
}

func named(key string) string { return aesKeyPrefix + secretencryption.Fingerprint([]byte(key)) }

func TestOrderOfKeysFollowsTheStage(t *testing.T) {
	one, next, backup := named(oneKey), named(nextKey), named(anotherKey)
	for stage, want := range map[hyperv1.SecretEncryptionStage][]string{
		hyperv1.SecretEncryptionReadKey:   {one, next, backup, "identity"},
		hyperv1.SecretEncryptionWriteKey:  {next, one, backup, "identity"},
		hyperv1.SecretEncryptionReencrypt: {next, one, backup, "identity"},
	} {
		t.Run(string(stage), func(t *testing.T) {
			env := targettest.Env()
			encrypted(env)
			env.Secrets[EncryptionSecret] = configOf(t, env)
			to(env, "copied-next", nextKey)
			delete(env.Secrets, "copied-old") // the configuration has its bytes
			moving(env, stage)
			if got := order(t, configOf(t, env)); !slices.Equal(got, want) {
				t.Errorf("the keys are %v, want %v", got, want)
			}
		})
	}
	t.Run("after the last one", func(t *testing.T) {
		env := targettest.Env()
		encrypted(env)
		env.Secrets[EncryptionSecret] = configOf(t, env)
		to(env, "copied-next", nextKey)
		settled(env)
		if got := order(t, configOf(t, env)); !slices.Equal(got, []string{next, "identity"}) {
			t.Errorf("the keys are %v", got)
		}
	})
	t.Run("of a cluster without encryption", func(t *testing.T) {
		env := targettest.Env()
		encrypted(env)
		to(env, "copied-next", nextKey)
		env.HCP.Status.SecretEncryptionRecord = nil
		moving(env, hyperv1.SecretEncryptionReadKey)
		if got := order(t, configOf(t, env)); !slices.Equal(got, []string{"identity", next}) {
			t.Errorf("before the first key writes: %v", got)
		}
		env.HCP.Status.SecretEncryptionRecord = nil
		moving(env, hyperv1.SecretEncryptionWriteKey)
		if got := order(t, configOf(t, env)); !slices.Equal(got, []string{next, "identity"}) {
			t.Errorf("when it writes: %v", got)
		}
	})
}

func TestDeletedConfigurationIsRestoredFromCopies(t *testing.T) {
	env := targettest.Env()
	encrypted(env)
	to(env, "copied-next", nextKey)
	moving(env, hyperv1.SecretEncryptionReencrypt)
	before := configOf(t, env)
	delete(env.Secrets, EncryptionSecret)
	if got, want := order(t, configOf(t, env)), order(t, before); !slices.Equal(got, want) {
		t.Errorf("the keys are %v, want %v", got, want)
	}
	delete(env.Secrets, "copied-new")
	if _, err := component.Render(Component, env); err == nil || !strings.Contains(err.Error(), "is in no Secret any more") {
		t.Errorf("a configuration without a key that is needed: %v", err)
	}
	env.Secrets[EncryptionSecret] = before
	if got, want := order(t, configOf(t, env)), order(t, before); !slices.Equal(got, want) {
		t.Errorf("the keys are %v, want %v", got, want)
	}
}

func TestInvalidKeyDoesNotChangeTheConfiguration(t *testing.T) {
	env := targettest.Env()
	encrypted(env)
	env.Secrets[EncryptionSecret] = configOf(t, env)
	env.HCP.Spec.SecretEncryption.AESCBC.ActiveKey.Name = "copied-nothing"
	if got, want := order(t, configOf(t, env)), order(t, env.Secrets[EncryptionSecret]); !slices.Equal(got, want) {
		t.Errorf("the keys are %v, want %v", got, want)
	}
}

// Each KMS key has its own plugin in its region. Only the write key is a part of the readiness.
func TestReadOnlyKMSKeysDoNotAffectReadiness(t *testing.T) {
	env := targettest.Env()
	encryptedByAWS(env)
	toARN(env, arnOne)
	env.Secrets[EncryptionSecret] = configOf(t, env)
	toARN(env, arnTwo)
	moving(env, hyperv1.SecretEncryptionWriteKey)
	objs, err := component.Render(Component, env)
	if err != nil {
		t.Fatal(err)
	}
	pod := podOf(objs)
	for key, region := range map[string]string{arnOne: "us-east-1", arnTwo: "eu-west-1"} {
		if plugin := component.Container(&pod, kmsName(key)); !slices.Contains(plugin.Args, "--region="+region) {
			t.Errorf("the plugin of %s has %v", key, plugin.Args)
		}
	}
	if got, want := order(t, configOf(t, env)), []string{kmsName(arnTwo), kmsName(arnOne), "identity"}; !slices.Equal(got, want) {
		t.Errorf("the keys are %v, want %v", got, want)
	}
	const want = "/readyz?exclude=kms-providers"
	if got := component.Container(&pod, Component.Name); got.ReadinessProbe.HTTPGet.Path != want || got.StartupProbe.HTTPGet.Path != want {
		t.Errorf("probes ask for %s and %s, want %s", got.ReadinessProbe.HTTPGet.Path, got.StartupProbe.HTTPGet.Path, want)
	}
	if got := component.Container(&pod, kmsName(arnTwo)).ReadinessProbe; got == nil || got.HTTPGet.Path != "/healthz" {
		t.Errorf("the plugin of the key that writes is ready by %v", got)
	}
	if got := component.Container(&pod, kmsName(arnOne)).ReadinessProbe; got != nil {
		t.Errorf("the plugin of a key that only reads is ready by %v", got)
	}

	env.Secrets[EncryptionSecret] = configOf(t, env)
	settled(env)
	if objs, err = component.Render(Component, env); err != nil {
		t.Fatal(err)
	}
	for _, c := range podOf(objs).Containers {
		if c.Name == kmsName(arnOne) {
			t.Error("a key that is not needed has a plugin")
		}
	}
}

func TestNewKMSKeyDoesNotAffectReadiness(t *testing.T) {
	env := targettest.Env()
	encryptedByAWS(env)
	toARN(env, arnOne)
	env.HCP.Status.SecretEncryptionRecord = nil
	moving(env, hyperv1.SecretEncryptionReadKey)
	objs, err := component.Render(Component, env)
	if err != nil {
		t.Fatal(err)
	}
	pod := podOf(objs)
	if got := component.Container(&pod, Component.Name).ReadinessProbe.HTTPGet.Path; got != "/readyz?exclude=kms-providers" {
		t.Errorf("it is ready by %s", got)
	}
}

func TestPodsHaveTheFingerprintOfTheirConfiguration(t *testing.T) {
	env := targettest.Env()
	encrypted(env)
	seen := map[string]bool{}
	for _, stage := range []hyperv1.SecretEncryptionStage{hyperv1.SecretEncryptionReadKey, hyperv1.SecretEncryptionWriteKey} {
		if stage == hyperv1.SecretEncryptionReadKey {
			to(env, "copied-next", nextKey)
			moving(env, stage)
		}
		env.HCP.Status.SecretEncryptionRecord.History[0].Stage = stage
		objs, err := component.Render(Component, env)
		if err != nil {
			t.Fatal(err)
		}
		got := annotationsOf(objs)[EncryptionAnnotation]
		if want := EncryptionFingerprint(configOf(t, env)); got != want || seen[got] {
			t.Errorf("in stage %s the pods have %q, want %q", stage, got, want)
		}
		seen[got] = true
	}
}

func TestNameOfASecretDoesNotChangeItsKey(t *testing.T) {
	env := targettest.Env()
	encrypted(env)
	before := configOf(t, env)
	has(env, "copied-renamed", aesKeyKey, oneKey)
	env.HCP.Spec.SecretEncryption.AESCBC.ActiveKey.Name = "copied-renamed"
	if after := configOf(t, env); string(after.Data[encryptionFile]) != string(before.Data[encryptionFile]) {
		t.Errorf("it was\n%s\nand is\n%s", before.Data[encryptionFile], after.Data[encryptionFile])
	}
}

func TestConfiguredKeys(t *testing.T) {
	env := targettest.Env()
	encrypted(env)
	got, err := ConfiguredKeys(configOf(t, env))
	if err != nil || got.InTheClear || len(got.Keys) != 2 || got.Keys[0].Name != named(oneKey) || got.Keys[1].Name != named(anotherKey) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := ConfiguredKeys(nil); got != nil || err != nil {
		t.Errorf("without a configuration: %v, %v", got, err)
	}
}

func configOf(t *testing.T, env *target.ControlPlane) *corev1.Secret {
	objs, err := component.Render(Component, env)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(objs, func(obj client.Object) bool { return obj.GetName() == EncryptionSecret })
	return objs[i].(*corev1.Secret)
}

func annotationsOf(objs []client.Object) map[string]string {
	return objs[len(objs)-1].(*appsv1.Deployment).Spec.Template.Annotations
}
