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
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/secretencryption"
)

const (
	// kmsImage is the plugin for keys of AWS in a release payload.
	kmsImage = "aws-kms-provider"
	// kmsSockets is where the API server finds its plugins.
	kmsSockets = "/run/kms"
	// kmsHealthPort is that of the first plugin; others follow.
	kmsHealthPort = 8100
	// KMSCheck is the check of an API server that asks all of its plugins. There is
	// none for a single one since version 2 of their protocol.
	KMSCheck = "kms-providers"
	// kmsKeysKey is where the Secret with the configuration remembers the keys.
	kmsKeysKey = "kms-keys"
)

// kmsProvider is a plugin, as version 2 of their protocol has it.
type kmsProvider struct {
	APIVersion string `json:"apiVersion"`
	Name       string `json:"name"`
	Endpoint   string `json:"endpoint"`
	Timeout    string `json:"timeout"`
}

// kmsKeys are the ARNs of the keys of AWS, in their order.
func kmsKeys(c secretencryption.Configuration) []string {
	var arns []string
	for _, key := range c.Keys {
		if key.Provider == hyperv1.KMS {
			arns = append(arns, key.Name)
		}
	}
	return arns
}

// kmsKeyNamed is the key of a provider. The configuration has its fingerprint,
// and the ARN is beside it.
func kmsKeyNamed(s *corev1.Secret, name string) (secretencryption.Key, error) {
	for _, arn := range strings.Fields(string(s.Data[kmsKeysKey])) {
		if kmsName(arn) == name {
			return secretencryption.KMS(arn), nil
		}
	}
	return secretencryption.Key{}, fmt.Errorf("Secret %s has provider %s and its key %s has no ARN of it: put the ARN back, or remove the Secret", EncryptionSecret, name, kmsKeysKey)
}

// kmsRegion is the region of a key, which one that was used before has for itself.
func kmsRegion(key string, spec hyperv1.AWSKMSSpec) string {
	if parts := strings.Split(key, ":"); len(parts) > 3 && parts[3] != "" { // arn:aws:kms:us-east-1:…
		return parts[3]
	}
	return spec.Region
}

// kmsName is the name of a key's plugin, its socket and its provider. It tells
// keys apart and does not tell which of them is used now: one that changes its
// place stays what it is.
func kmsName(key string) string { return "awskms-" + secretencryption.Fingerprint([]byte(key)) }

func kmsSocket(key string) string { return path.Join(kmsSockets, kmsName(key)+".sock") }

func kmsProviderOf(key string) encryptionProvider {
	return encryptionProvider{KMS: &kmsProvider{APIVersion: "v2", Name: kmsName(key), Endpoint: "unix://" + kmsSocket(key), Timeout: "35s"}}
}

// addKMS runs a plugin for each key, and a minter for the token by which AWS
// knows them. A component whose images are missing is one that the release does
// without: the API server is not meant to be that because of a plugin.
func addKMS(env *component.Env, p *pod, keys []string) error {
	enc := env.HCP.Spec.SecretEncryption
	if enc.KMS == nil || enc.KMS.AWS == nil {
		return fmt.Errorf("keys of AWS KMS are in use, and secretEncryption.kms.aws with the role that may use them is not set: set it")
	}
	if !env.Has(kmsImage) {
		return fmt.Errorf("secretEncryption is of type kms, and release %s has no image %s: take one that has", env.Release.Version, kmsImage)
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

// excludeReaders keeps API servers ready without the keys that are only read
// with. One that is disabled or deleted then costs what it encrypted, and not
// the whole cluster. API servers have one check for all of their plugins, and
// leave it out beside such a key; that of the key that writes is for its plugin.
func excludeReaders(env *component.Env, p *pod, keys []string) {
	writer, readers := "", false
	if key := secretencryption.Writer(env.HCP.Status.SecretEncryption); key != nil && key.Provider == hyperv1.KMS {
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

// writerProbe succeeds when the plugin can use its key. An API server whose plugin
// could not use it tries again after ten seconds, which three successes take.
func writerProbe(port intstr.IntOrString) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: port}},
		PeriodSeconds: 6, TimeoutSeconds: 10, SuccessThreshold: 3, FailureThreshold: 5,
	}
}

func kmsMinter(env *component.Env, spec hyperv1.AWSKMSSpec) corev1.Container {
	return corev1.Container{
		Name:    "kms-token-minter",
		Image:   component.OperatorImage,
		Command: []string{"sidecar", "token-minter"},
		Args: []string{
			"--key-file=/etc/kubernetes/service-account/" + names.ServiceAccountPrivateKeyFile,
			"--issuer=" + env.HCP.Spec.IssuerURL, "--subject=" + names.KMSSubject, "--token-file=" + names.WebIdentityTokenFile,
			"--role-arn=" + spec.Auth.AWSKMSRoleARN, "--region=" + kmsRegion(spec.ActiveKey.ARN, spec),
		},
		Env:       slices.Clone(env.AWSEndpoints),
		Resources: requests("1m", "5Mi"),
		VolumeMounts: []corev1.VolumeMount{
			{Name: "service-account", MountPath: "/etc/kubernetes/service-account", ReadOnly: true},
			{Name: "kms-token", MountPath: path.Dir(names.WebIdentityTokenFile)},
		},
	}
}

func kmsPlugin(spec hyperv1.AWSKMSSpec, key string, health int, sockets corev1.VolumeMount) corev1.Container {
	port := intstr.FromInt32(int32(health))
	return corev1.Container{
		Name:  kmsName(key),
		Image: kmsImage,
		Args:  []string{"--key=" + key, "--region=" + kmsRegion(key, spec), "--listen=" + kmsSocket(key), fmt.Sprintf("--health-port=:%d", health)},
		Env: []corev1.EnvVar{
			{Name: "AWS_REGION", Value: kmsRegion(key, spec)},
			{Name: "AWS_ROLE_ARN", Value: spec.Auth.AWSKMSRoleARN},
			{Name: "AWS_WEB_IDENTITY_TOKEN_FILE", Value: names.WebIdentityTokenFile},
		},
		LivenessProbe: &corev1.Probe{
			ProbeHandler:        corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/livez", Port: port}},
			InitialDelaySeconds: 10, PeriodSeconds: 60, TimeoutSeconds: 10,
		},
		// The API server opens Secrets with it until it has stopped.
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
