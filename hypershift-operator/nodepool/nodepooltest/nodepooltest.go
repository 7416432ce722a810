// Package nodepooltest provides a NodePool and its HostedCluster for tests.
package nodepooltest

import (
	"fmt"
	"time"

	"k8s.io/utils/ptr"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// Names of the fixtures.
const (
	Region    = "us-east-1"
	Namespace = "clusters-demo"
	InfraID   = "demo-x7k2p"
	Image136  = "example.test/release:1.36.3"
	Image135  = "example.test/release:1.35.4"
)

// HostedCluster returns the cluster of the pool.
func HostedCluster() *hyperv1.HostedCluster {
	return &hyperv1.HostedCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo", UID: "11111111-0000-4000-8000-000000000000"},
		Spec: hyperv1.HostedClusterSpec{
			InfraID:    InfraID,
			Release:    hyperv1.Release{Image: Image136},
			PullSecret: corev1.LocalObjectReference{Name: "my-pull-secret"},
			Networking: hyperv1.ClusterNetworking{
				ClusterNetwork: []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14"}},
				ServiceNetwork: []hyperv1.ServiceNetworkEntry{{CIDR: "172.31.0.0/16"}},
			},
			Platform: hyperv1.PlatformSpec{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSPlatformSpec{Region: Region}},
		},
		Status: hyperv1.HostedClusterStatus{Platform: &hyperv1.PlatformStatus{AWS: &hyperv1.AWSPlatformStatus{DefaultWorkerSecurityGroupID: "sg-workers"}}},
	}
}

// NodePool returns a pool of two nodes that passes validation.
func NodePool() *hyperv1.NodePool {
	return &hyperv1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "workers", Generation: 2},
		Spec: hyperv1.NodePoolSpec{
			ClusterName: "demo",
			Release:     hyperv1.Release{Image: Image136},
			Replicas:    ptr.To[int32](2),
			Arch:        hyperv1.ArchitectureAMD64,
			Management:  hyperv1.NodePoolManagement{UpgradeType: hyperv1.UpgradeTypeReplace, AutoRepair: true},
			Platform: hyperv1.NodePoolPlatform{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSNodePoolPlatform{
				InstanceType: "m6i.large",
				Subnet:       hyperv1.AWSResourceReference{ID: ptr.To("subnet-0a")},
				RootVolume:   &hyperv1.Volume{Size: 120, Type: hyperv1.VolumeTypeGP3},
			}},
		},
	}
}

// Release returns a release for all architectures, with a machine image for amd64 in Region.
func Release(version, ami string) *release.Release {
	return &release.Release{
		Version: version, KubernetesVersion: version, Architecture: hyperv1.Multi,
		BootImages: map[hyperv1.Architecture]map[string]release.BootImage{hyperv1.ArchitectureAMD64: {Region: {AMI: ami}}},
	}
}

// UseAll sets all fields that change machines.
func UseAll(np *hyperv1.NodePool) {
	np.Spec.NodeLabels = map[string]hyperv1.LabelValue{"team": "a"}
	np.Spec.Taints = []hyperv1.Taint{{Key: "gpu", Value: "yes", Effect: hyperv1.TaintEffectNoSchedule}, {Key: "bare", Effect: hyperv1.TaintEffectNoExecute}}
	np.Spec.NodeDrainTimeout = &metav1.Duration{Duration: 10 * time.Minute}
	np.Spec.NodeVolumeDetachTimeout = &metav1.Duration{Duration: time.Minute}
	Autoscaled(0, 5)(np)
	aws := np.Spec.Platform.AWS
	aws.InstanceProfile = "mine"
	aws.Subnet = hyperv1.AWSResourceReference{Filters: []hyperv1.Filter{{Name: "tag:Name", Values: []string{"private"}}}}
	aws.SecurityGroups = []hyperv1.AWSResourceReference{{ID: ptr.To("sg-1")}, {Filters: []hyperv1.Filter{{Name: "tag:Name", Values: []string{"db"}}}}}
	aws.RootVolume = &hyperv1.Volume{Size: 200, Type: hyperv1.VolumeTypeGP3, IOPS: 4000, Throughput: 300, EncryptionKey: "alias/mine"}
	aws.ResourceTags = Tags("pool", 2)
	aws.Placement = &hyperv1.PlacementOptions{MarketType: hyperv1.MarketTypeSpot, Tenancy: "default", Spot: &hyperv1.SpotOptions{MaxPrice: "0.25"}}
}

// Autoscaled sets bounds for the cluster autoscaler.
func Autoscaled(least, most int32) func(*hyperv1.NodePool) {
	return func(np *hyperv1.NodePool) {
		np.Spec.Replicas, np.Spec.AutoScaling = nil, &hyperv1.NodePoolAutoScaling{Min: &least, Max: most}
	}
}

// Tags returns n tags with keys that begin with prefix.
func Tags(prefix string, n int) (out []hyperv1.AWSResourceTag) {
	for i := range n {
		out = append(out, hyperv1.AWSResourceTag{Key: fmt.Sprintf("%s-%02d", prefix, i), Value: "x"})
	}
	return out
}
