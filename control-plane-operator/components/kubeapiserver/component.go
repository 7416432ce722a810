package kubeapiserver

import (
	"embed"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

//go:embed assets
var assets embed.FS

// Component is the API server of a hosted cluster.
var Component = component.Component[*target.ControlPlane]{
	Name:           names.KubeAPIServer,
	Assets:         assets,
	After:          []string{names.Etcd},
	RequestServing: true,
	Adapters: []component.Adapter[*target.ControlPlane]{
		component.On("audit-configmap.yaml", adaptAuditPolicy),
		component.On("authentication-configmap.yaml", adaptAuthentication),
		component.Only("authentication-configmap.yaml", hasProvider),
		component.On("client-ca-configmap.yaml", adaptClientCA),
		component.Only("client-ca-configmap.yaml", bringsClientCA),
		component.On("egress-configmap.yaml", adaptEgress),
		component.On("encryption-secret.yaml", adaptEncryption),
		component.Only("encryption-secret.yaml", encrypts),
		component.On("deployment.yaml", adaptDeployment),
	},
	// Files that the API server reloads itself: certificates, their keys, and the authorities for which it supports a
	// reload. It reads the authorities of etcd and of the agents only once.
	Reloads: []string{
		"Secret/" + names.APIServerCertificate, "Secret/" + names.APIServerPrivateCertificate, "ConfigMap/" + names.ClientCA, "ConfigMap/" + clientCA,
		"Secret/" + names.AggregatorClientCertificate, "Secret/" + names.KubeletClientCertificate,
		"Secret/" + names.EtcdClientCertificate + "/" + corev1.TLSCertKey, "Secret/" + names.EtcdClientCertificate + "/" + corev1.TLSPrivateKeyKey,
		"ConfigMap/" + authenticationConfig,
	},
}

// adaptDeployment calls the adapters in the order of the flags.
func adaptDeployment(env *target.ControlPlane, d *appsv1.Deployment) error {
	p := &pod{PodSpec: &d.Spec.Template.Spec, replicas: *d.Spec.Replicas, annotations: map[string]string{}}
	for _, adapt := range []func(*target.ControlPlane, *pod) error{
		addAddresses, addIdentity, addEtcd, addTLS, addNamedCertificates, addClientCA, addKubeletCA, addAudit, addAuthentication, addEncryption, addKonnectivity, addFeatures, addSettings,
	} {
		if err := adapt(env, p); err != nil {
			return err
		}
	}
	d.Spec.Template.Annotations = p.annotations
	target.TrustUser(env, p.PodSpec)
	return nil
}

// A pod is the pod of the API server, with its number of replicas.
type pod struct {
	*corev1.PodSpec
	replicas    int32
	annotations map[string]string
}

// server returns the main container. Adding containers to the pod invalidates the pointer.
func (p *pod) server() *corev1.Container { return component.Container(p.PodSpec, names.KubeAPIServer) }

func (p *pod) arg(args ...string) {
	c := p.server()
	c.Args = append(c.Args, args...)
}

// mount mounts a volume into the container of the API server and returns its path.
func (p *pod) mount(name string, source corev1.VolumeSource) string {
	path := "/etc/kubernetes/" + name
	p.Volumes = append(p.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	c := p.server()
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path, ReadOnly: true})
	return path
}

func (p *pod) mountSecret(name, secret string) string {
	return p.mount(name, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}})
}

func (p *pod) mountConfigMap(name, configMap string) string {
	return p.mount(name, corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}}})
}

func (p *pod) volume(name string) *corev1.Volume {
	i := slices.IndexFunc(p.Volumes, func(v corev1.Volume) bool { return v.Name == name })
	return &p.Volumes[i]
}

// asTLS maps a Secret with other key names to the usual key names.
func asTLS(secret, cert, key, ca string) *corev1.SecretVolumeSource {
	return &corev1.SecretVolumeSource{SecretName: secret, Items: []corev1.KeyToPath{
		{Key: cert, Path: corev1.TLSCertKey}, {Key: key, Path: corev1.TLSPrivateKeyKey}, {Key: ca, Path: pki.TrustKey},
	}}
}
