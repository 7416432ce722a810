// Package imageregistry runs the image registry of a hosted cluster, on its nodes:
//
//	docker, kubelet ─► Service ─► gateway ─► registry ─► bucket in the customer's account
//
// The registry is that of the project distribution. Package control-plane-operator/imageregistry is the gateway, which asks the API server
// what a user may do. Package imageregistrybucket creates the bucket, and the pods access it with a token of their service account.
//
// A cluster has it if the user enables the capability ImageRegistry, the release has its image, and the bucket exists.
package imageregistry

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

//go:embed assets
var assets embed.FS

// Component is the image registry.
var Component = component.Component[*target.HostedCluster]{
	Name:   names.ImageRegistry,
	Assets: assets,
	Wanted: Wanted,
	Adapters: []component.Adapter[*target.HostedCluster]{
		component.On("configmap.yaml", adaptConfig),
		component.On("secret.yaml", adaptSecret),
		component.On("service.yaml", adaptService),
		component.On("deployment.yaml", adaptDeployment),
		component.On("garbagecollection.yaml", adaptGarbageCollection),
		component.Only("pdb.yaml", (*target.HostedCluster).HighlyAvailable), // a single pod could never be evicted
	},
}

// Wanted is false until there is a certificate, which is signed when the cluster expects nodes, and a bucket.
func Wanted(t *target.HostedCluster) bool {
	certificate, err := t.ImageRegistryCertificate.Get()
	return t.HCP.HasImageRegistry() && t.Has(names.ImageRegistry) && HasBucket(t.HCP) && (err != nil || len(certificate) > 0)
}

// HasBucket reports whether the bucket of the registry exists.
func HasBucket(hcp *hyperv1.HostedControlPlane) bool {
	return hcp.Status.ImageRegistry != nil && ptr.Deref(hcp.Status.ImageRegistry.Ready, false)
}

// configuration returns the configuration of the registry. Nodes load layers from the bucket, by URLs that the registry signs. Descriptions of layers
// are not cached: a garbage collection deletes layers.
func configuration(t *target.HostedCluster) ([]byte, error) {
	bucket := t.HCP.Status.ImageRegistry
	text, err := yaml.Marshal(map[string]any{
		"version": "0.1",
		"log":     map[string]any{"level": "info", "formatter": "json", "accesslog": map[string]any{"disabled": true}},
		"storage": map[string]any{
			// The bucket has no access control lists, and accepts only this one: https://docs.aws.amazon.com/AmazonS3/latest/userguide/about-object-ownership.html.
			"s3":          map[string]any{"region": bucket.Region, "bucket": bucket.Bucket, "objectacl": "bucket-owner-full-control"},
			"delete":      map[string]any{"enabled": true},
			"maintenance": map[string]any{"uploadpurging": map[string]any{"enabled": true, "age": "168h", "interval": "24h", "dryrun": false}},
		},
		"http":   map[string]any{"addr": "127.0.0.1:5000", "relativeurls": true},
		"health": map[string]any{"storagedriver": map[string]any{"enabled": true, "interval": "10s", "threshold": 2}},
	})
	if err != nil {
		return nil, fmt.Errorf("writing the configuration of the registry: %w", err)
	}
	return text, nil
}

func adaptConfig(t *target.HostedCluster, cm *corev1.ConfigMap) error {
	text, err := configuration(t)
	cm.Data = map[string]string{"config.yml": string(text)}
	return err
}

func adaptSecret(t *target.HostedCluster, secret *corev1.Secret) (err error) {
	secret.Data, err = target.KeyPair(t.ImageRegistryCertificate)
	sum := sha256.Sum256(append([]byte("states of uploads "), secret.Data[corev1.TLSPrivateKeyKey]...))
	secret.Data["upload-secret"] = []byte(hex.EncodeToString(sum[:]))
	return err
}

func adaptService(t *target.HostedCluster, service *corev1.Service) error {
	return target.ImageRegistryAddress.Set(t.HCP.Spec.Networking, service)
}

// adaptDeployment restarts the pods when the certificate or the configuration changes: the programs read them once.
func adaptDeployment(t *target.HostedCluster, d *appsv1.Deployment) error {
	d.Spec.Replicas = t.Replicas()
	if err := t.ConnectToAPI(&d.Spec.Template); err != nil {
		return err
	}
	setIdentity(t, component.Container(&d.Spec.Template.Spec, "registry"))
	config, errConfig := configuration(t)
	certificate, errCertificate := t.ImageRegistryCertificate.Get()
	target.RestartOn(&d.Spec.Template, t.Authorities.Value, certificate[corev1.TLSCertKey], config)
	return errors.Join(errConfig, errCertificate)
}

func adaptGarbageCollection(t *target.HostedCluster, job *batchv1.CronJob) error {
	template := &job.Spec.JobTemplate.Spec.Template
	template.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: names.HostedPullSecret}}
	if err := component.ResolveImages(t, &template.Spec); err != nil {
		return err
	}
	setIdentity(t, &template.Spec.Containers[0])
	return t.ConnectToAPI(template)
}

// setIdentity lets a container assume the role of the registry.
func setIdentity(t *target.HostedCluster, c *corev1.Container) {
	record := t.HCP.Status.ImageRegistry
	c.Env = append(c.Env, component.AWSIdentity(record.Region, record.RoleARN)...)
	// The default of version 1 of the SDK is the name of S3 for all regions, which endpoints of a VPC do not have.
	c.Env = append(c.Env, corev1.EnvVar{Name: "AWS_S3_US_EAST_1_REGIONAL_ENDPOINT", Value: "regional"})
}
