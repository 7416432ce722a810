// Package versions is the one table of the images of a release. From it come the descriptions in hack/payload, and the versions that the
// lab runs are compared with it.
//
// The version of an image is the version of the program in hack/binaries, which the lab runs: the shipped version is the tested
// version. A row with its own version is an exception, and states the reason.
package versions

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
)

// Kubernetes are the versions of Kubernetes of which a payload is released, the newest first.
var Kubernetes = []string{"1.37.2", "1.36.3"}

// A Component is a row of the table.
type Component struct {
	// Name is its name in the payload.
	Name string
	// Image is the image that its project publishes: %s is the version, without a "v".
	Image string
	// Program is the program of hack/binaries with the version. Empty if the lab does not build it.
	Program string
	// PerKubernetes is set for programs with a version for each version of Kubernetes.
	PerKubernetes bool
	// Version is the version of the image if it is not the program's version, and Versions, if it depends on the version of Kubernetes.
	Version  string
	Versions map[string]string
	// Differs is why the lab does not run this image or this version of it.
	Differs string
	// Absent is set if the lab does not run the component at all.
	Absent bool
}

// noModule is why the lab does not run a component.
const noModule = "the module proxy does not serve its modules"

// Components is the table, in the order of names.
var Components = []Component{
	{
		Name: "aws-cloud-controller-manager", Image: "registry.k8s.io/provider-aws/cloud-controller-manager:v%s", Program: "aws-cloud-controller-manager",
		// The build of 1.36.0 failed, and 1.36.1 is the first image of 1.36 in the registry: https://github.com/kubernetes/k8s.io/pull/9796.
		Versions: map[string]string{"1.36.3": "1.36.1"},
		Differs:  "its minor version is that of Kubernetes, and the lab runs the newest version with all payloads",
	},
	{Name: "aws-ebs-csi-driver", Image: "public.ecr.aws/ebs-csi-driver/aws-ebs-csi-driver:v%s", Version: "1.49.0", Absent: true, Differs: noModule},
	{Name: "cluster-api-provider-aws", Image: "registry.k8s.io/cluster-api-aws/cluster-api-aws-controller:v%s", Program: "cluster-api-provider-aws-manager"},
	{Name: "cluster-api", Image: "registry.k8s.io/cluster-api/cluster-api-controller:v%s", Program: "cluster-api-manager"},
	{
		Name: "cluster-autoscaler", Image: "registry.k8s.io/autoscaling/cluster-autoscaler:v%s",
		Version: "1.36.0", Absent: true, Differs: noModule + ", and 1.36.0 is the newest image that was seen",
	},
	// Not from Docker Hub, which limits the pulls of an address: all nodes of a VPC share the address of its NAT gateway.
	{Name: "coredns", Image: "registry.k8s.io/coredns/coredns:v%s", Program: "coredns"},
	{Name: "csi-external-attacher", Image: "registry.k8s.io/sig-storage/csi-attacher:v%s", Version: "4.10.0", Absent: true, Differs: noModule},
	{Name: "csi-external-provisioner", Image: "registry.k8s.io/sig-storage/csi-provisioner:v%s", Version: "5.3.0", Absent: true, Differs: noModule},
	{Name: "csi-external-resizer", Image: "registry.k8s.io/sig-storage/csi-resizer:v%s", Version: "1.14.0", Absent: true, Differs: noModule},
	{Name: "csi-livenessprobe", Image: "registry.k8s.io/sig-storage/livenessprobe:v%s", Version: "2.17.0", Absent: true, Differs: noModule},
	{Name: "csi-node-driver-registrar", Image: "registry.k8s.io/sig-storage/csi-node-driver-registrar:v%s", Version: "2.15.0", Absent: true, Differs: noModule},
	{Name: "etcd", Image: "registry.k8s.io/etcd:%s-0", Program: "etcd"},
	{Name: "flannel", Image: "ghcr.io/flannel-io/flannel:v%s", Program: "flanneld"},
	// ECR Public contains a copy of each official image of Docker Hub.
	{Name: "haproxy", Image: "public.ecr.aws/docker/library/haproxy:%s", Version: "3.2", Differs: "the lab runs the package of Debian: HAProxy is not written in Go"},
	{Name: "image-registry", Image: "public.ecr.aws/docker/library/registry:%s", Program: "image-registry"},
	{Name: "karpenter", Image: "public.ecr.aws/karpenter/controller:%s", Program: "karpenter"},
	{Name: "konnectivity-agent", Image: "registry.k8s.io/kas-network-proxy/proxy-agent:v%s", Program: "proxy-agent"},
	{Name: "konnectivity-server", Image: "registry.k8s.io/kas-network-proxy/proxy-server:v%s", Program: "proxy-server"},
	{Name: "kube-apiserver", Image: "registry.k8s.io/kube-apiserver:v%s", Program: "kube-apiserver", PerKubernetes: true},
	{Name: "kube-controller-manager", Image: "registry.k8s.io/kube-controller-manager:v%s", Program: "kube-controller-manager", PerKubernetes: true},
	{Name: "kube-proxy", Image: "registry.k8s.io/kube-proxy:v%s", Program: "kube-proxy", PerKubernetes: true},
	{Name: "kube-scheduler", Image: "registry.k8s.io/kube-scheduler:v%s", Program: "kube-scheduler", PerKubernetes: true},
	{Name: "metrics-server", Image: "registry.k8s.io/metrics-server/metrics-server:v%s", Program: "metrics-server"},
	{Name: "pause", Image: "registry.k8s.io/pause:%s", Version: "3.10.2", Differs: "the lab runs catatonit of Debian: pause is not written in Go"},
	{Name: "pod-identity-webhook", Image: "public.ecr.aws/eks/amazon-eks-pod-identity-webhook:v%s", Version: "0.6.15", Absent: true, Differs: noModule},
	{Name: "traefik", Image: "public.ecr.aws/docker/library/traefik:v%s", Program: "traefik"},
}

// Program returns the program of hack/binaries that is part of a version of Kubernetes.
func Program(name, kubernetes string) string {
	if kubernetes == Kubernetes[0] {
		return name
	}
	return name + "-" + kubernetes
}

// program is the program of hack/binaries with the version of the component; empty without such a program.
func (c Component) program(kubernetes string) string {
	if c.PerKubernetes {
		return Program(c.Program, kubernetes)
	}
	return c.Program
}

// Tested returns the version that the lab runs; empty if it does not build the program.
func (c Component) Tested(kubernetes string) (string, error) {
	if c.Program == "" {
		return "", nil
	}
	version, err := pinned.Version(c.program(kubernetes))
	return strings.TrimPrefix(version, "v"), err
}

// Reference returns the image of a component for a version of Kubernetes.
func (c Component) Reference(kubernetes string) (string, error) {
	version := cmp.Or(c.Versions[kubernetes], c.Version)
	if version == "" {
		var err error
		if version, err = c.Tested(kubernetes); err != nil {
			return "", fmt.Errorf("finding the version of %s: %w", c.Name, err)
		}
	}
	if version == "" {
		return "", fmt.Errorf("%s has no version for Kubernetes %s", c.Name, kubernetes)
	}
	return fmt.Sprintf(c.Image, version), nil
}

// Describe returns the description of the payload for a version of Kubernetes, in YAML.
func Describe(kubernetes string) ([]byte, error) {
	var b strings.Builder
	fmt.Fprintf(&b, `# Upstream Kubernetes, from the images that the projects publish. Generated by hack/generate.sh from hack/payload/versions. For a payload of
# your own, copy this file: name machine images under bootImages, or set spec.platform.aws.ami of each NodePool. Add node-programs to the
# components unless the machine images have this version of the kubelet: see docs/node-images.md.
#
#   bootImages:
#     amd64: {us-east-1: ami-...}
#     arm64: {us-east-1: {image: ami-..., userDataFormat: cloud-config, rootDevice: /dev/sda1}}
version: %s
components:
`, kubernetes)
	for _, c := range Components {
		image, err := c.Reference(kubernetes)
		if err != nil {
			return nil, err
		}
		tested, err := c.Tested(kubernetes)
		if err != nil {
			return nil, err
		}
		switch {
		case c.Absent:
			fmt.Fprintf(&b, "  # Not tested in the lab: %s.\n", c.Differs)
		case c.Differs != "" && !strings.HasSuffix(image, ":v"+tested):
			fmt.Fprintf(&b, "  # Another version in the lab: %s.\n", c.Differs)
		}
		fmt.Fprintf(&b, "  %s: %s\n", c.Name, image)
	}
	return []byte(b.String()), nil
}
