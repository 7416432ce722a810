package kubeapiserver

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/secretencryption"
)

const (
	// kmsImage is the name of the AWS KMS plugin in a release payload.
	kmsImage = "aws-kms-provider"
	// kmsSockets is the directory of the plugins' sockets.
	kmsSockets = "/run/kms"
	// kmsHealthPort is the port of the first plugin. The other plugins have the following ports.
	kmsHealthPort = 8100
	// KMSCheck is the API server's health check of all plugins. Version 2 of the KMS protocol has no check of a single
	// plugin.
	KMSCheck = "kms-providers"
	// kmsKeysKey is the key of the configuration's Secret that lists the ARNs.
	kmsKeysKey = "kms-keys"
)

// kmsProvider is a plugin with version 2 of the KMS protocol.
type kmsProvider struct {
	APIVersion string `json:"apiVersion"`
	Name       string `json:"name"`
	Endpoint   string `json:"endpoint"`
	Timeout    string `json:"timeout"`
}

// kmsKeys returns the ARNs of the KMS keys in their order.
func kmsKeys(c secretencryption.Configuration) []string {
	var arns []string
	for _, key := range c.Keys {
		if key.Provider == hyperv1.KMS {
			arns = append(arns, key.Name)
		}
	}
	return arns
}

// kmsKeyNamed returns the key of a provider. The configuration contains its fingerprint, and another key of the
// Secret contains the ARN.
func kmsKeyNamed(s *corev1.Secret, name string) (secretencryption.Key, error) {
	for _, arn := range strings.Fields(string(s.Data[kmsKeysKey])) {
		if kmsName(arn) == name {
			return secretencryption.KMS(arn), nil
		}
	}
	return secretencryption.Key{}, fmt.Errorf("Secret %s has provider %s but its key %s does not list the ARN: restore the ARN, or delete the Secret", EncryptionSecret, name, kmsKeysKey)
}

// kmsRegion returns the region of a key. A previous key may be in another region than the current one.
func kmsRegion(key string, spec hyperv1.AWSKMSSpec) string {
	if parts := strings.Split(key, ":"); len(parts) > 3 && parts[3] != "" { // arn:aws:kms:us-east-1:…
		return parts[3]
	}
	return spec.Region
}

// kmsName returns the name of a key's plugin, socket and provider. The name depends only on the key and not on its
// position, so it stays the same when another key becomes the first.
func kmsName(key string) string { return "awskms-" + secretencryption.Fingerprint([]byte(key)) }

func kmsSocket(key string) string { return path.Join(kmsSockets, kmsName(key)+".sock") }

func kmsProviderOf(key string) encryptionProvider {
	return encryptionProvider{KMS: &kmsProvider{APIVersion: "v2", Name: kmsName(key), Endpoint: "unix://" + kmsSocket(key), Timeout: "35s"}}
}

// addKMS runs a plugin for each key, and a minter for their AWS token. A missing image fails here: otherwise the
// component framework would drop the whole API server from a release without the plugin.
func addKMS(env *target.ControlPlane, p *pod, keys []string) error {
	enc := env.HCP.Spec.SecretEncryption
	if enc.KMS == nil || enc.KMS.AWS == nil {
		return fmt.Errorf("keys of AWS KMS are in use, but secretEncryption.kms.aws with their role is not set: set it")
	}
	if !env.Has(kmsImage) {
		return fmt.Errorf("secretEncryption is of type kms, but release %s has no image %s: use a release that has it", env.Release.Version, kmsImage)
	}
	spec := *enc.KMS.AWS
	inMemory := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	p.Volumes = append(p.Volumes,
		corev1.Volume{Name: "kms-sockets", VolumeSource: inMemory},
		corev1.Volume{Name: "kms-token", VolumeSource: inMemory},
	)
	sockets := corev1.VolumeMount{Name: "kms-sockets", MountPath: kmsSockets}
	server := p.server()
	server.VolumeMounts = append(server.VolumeMounts, sockets)
	p.Containers = append(p.Containers, kmsMinter(env, spec))
	for i, key := range keys {
		p.Containers = append(p.Containers, kmsPlugin(spec, key, kmsHealthPort+i, sockets))
	}
	excludeReaders(env, p, keys)
	return nil
}

// excludeReaders keeps API servers ready if a key that is only used to read is unavailable. A disabled or deleted key
// then affects only the objects that it encrypted, and not the whole cluster. API servers have one check for all of
// their plugins, and exclude it with such a key; the plugin of the write key has its own check.
func excludeReaders(env *target.ControlPlane, p *pod, keys []string) {
	writer, readers := "", false
	if key := secretencryption.Writer(env.HCP.Status.SecretEncryptionRecord); key != nil && key.Provider == hyperv1.KMS {
		writer = kmsName(key.Name)
	}
	for _, key := range keys {
		readers = readers || kmsName(key) != writer
	}
	if !readers {
		return
	}
	server := p.server()
	for _, probe := range []*corev1.Probe{server.StartupProbe, server.ReadinessProbe} {
		probe.HTTPGet.Path += "?exclude=" + KMSCheck
	}
	if i := slices.IndexFunc(p.Containers, func(c corev1.Container) bool { return c.Name == writer }); i >= 0 {
		p.Containers[i].ReadinessProbe = writerProbe(p.Containers[i].LivenessProbe.HTTPGet.Port)
	}
}

// writerProbe succeeds when the plugin can use its key. An API server with a plugin that
// could not use it tries again after ten seconds, which three successes take.
func writerProbe(port intstr.IntOrString) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: port}},
		PeriodSeconds: 6, TimeoutSeconds: 10, SuccessThreshold: 3, FailureThreshold: 5,
	}
}

func kmsMinter(env *target.ControlPlane, spec hyperv1.AWSKMSSpec) corev1.Container {
	return corev1.Container{
		Name:    "kms-token-minter",
		Image:   target.OperatorImage,
		Command: []string{"sidecar", "token-minter"},
		Args: []string{
			"--key-file=/etc/kubernetes/service-account/" + names.ServiceAccountPrivateKeyFile,
			"--issuer=" + env.HCP.Spec.IssuerURL, "--subject=" + names.KMSSubject, "--token-file=" + names.WebIdentityTokenFile,
			"--role-arn=" + spec.Auth.AWSKMSRoleARN, "--region=" + kmsRegion(spec.ActiveKey.ARN, spec),
		},
		Env:       slices.Clone(env.Egress),
		Resources: requests("1m", "5Mi"),
		VolumeMounts: []corev1.VolumeMount{
			{Name: "service-account", MountPath: "/etc/kubernetes/service-account", ReadOnly: true},
			{Name: "kms-token", MountPath: path.Dir(names.WebIdentityTokenFile)},
		},
	}
}

func kmsPlugin(spec hyperv1.AWSKMSSpec, key string, health int, sockets corev1.VolumeMount) corev1.Container {
	port := intstr.FromInt32(int32(health)) //nolint:gosec // a port
	return corev1.Container{
		Name:  kmsName(key),
		Image: kmsImage,
		// The entrypoint of the published image is another program, which runs the program that its arguments name.
		Command: []string{"/aws-encryption-provider"},
		Args:    []string{"--key=" + key, "--region=" + kmsRegion(key, spec), "--listen=" + kmsSocket(key), fmt.Sprintf("--health-port=:%d", health)},
		Env: []corev1.EnvVar{
			{Name: "AWS_REGION", Value: kmsRegion(key, spec)},
			{Name: "AWS_ROLE_ARN", Value: spec.Auth.AWSKMSRoleARN},
			{Name: "AWS_WEB_IDENTITY_TOKEN_FILE", Value: names.WebIdentityTokenFile},
		},
		LivenessProbe: &corev1.Probe{
			ProbeHandler:        corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/livez", Port: port}},
			InitialDelaySeconds: 10, PeriodSeconds: 60, TimeoutSeconds: 10,
		},
		// The API server decrypts Secrets with it until it has stopped.
		Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 20}}},
		Resources: requests("5m", "20Mi"),
		VolumeMounts: []corev1.VolumeMount{
			sockets,
			{Name: "kms-token", MountPath: path.Dir(names.WebIdentityTokenFile), ReadOnly: true},
		},
	}
}

func requests(cpu, memory string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
	}}
}
