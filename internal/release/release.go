package release

import (
	"context"
	"encoding/json"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// A Resolver reads release images. pullSecret is the value of the key .dockerconfigjson of a Secret; without it, requests are
// anonymous. An error is an *Error.
type Resolver interface {
	Resolve(ctx context.Context, image string, pullSecret []byte) (*Release, error)
	// NodePrograms returns where the layers of an image of a release, which is named by digest, can be fetched for machines of
	// an architecture.
	NodePrograms(ctx context.Context, image string, arch hyperv1.Architecture, pullSecret []byte) (*hyperv1.NodePrograms, error)
}

// A Release is the content of a release payload. It is shared and must not be changed.
type Release struct {
	// Image is the image as it was requested. Digest is the digest of its manifest, such as sha256:….
	Image, Digest string
	// Version is the version of the payload, such as 1.36.3 or 4.21.3: a semantic version without a v.
	Version string
	// KubernetesVersion is the version of Kubernetes in the payload, in the same form. It is equal to Version for a payload
	// of plain Kubernetes.
	KubernetesVersion string
	// EtcdVersion is the version of etcd in the payload, in the same form. It is empty if the payload does not specify it.
	EtcdVersion string
	// Architecture is the payload's architecture, empty if it is not specified.
	Architecture hyperv1.PayloadArchType
	// Components maps names to images, as they are pulled.
	Components map[string]string
	// BootImages holds the machine images by architecture and region.
	BootImages map[hyperv1.Architecture]map[string]BootImage
}

// A BootImage is an image for machines.
type BootImage struct {
	// AMI is its identifier on AWS.
	AMI string `json:"image"`
	// UserDataFormat is the format of the user data that it reads. It is empty if the release does not specify it, as releases
	// of OpenShift, with images that read Ignition.
	UserDataFormat hyperv1.UserDataFormat `json:"userDataFormat,omitempty"`
	// RootDevice is the name of its root device. It is empty if the release does not specify it.
	RootDevice string `json:"rootDevice,omitempty"`
}

// UnmarshalJSON reads an object, or an AMI alone.
func (b *BootImage) UnmarshalJSON(text []byte) error {
	type plain BootImage
	if json.Unmarshal(text, &b.AMI) == nil {
		return nil
	}
	return json.Unmarshal(text, (*plain)(b))
}

// Missing returns the images, sorted by name, that a control plane needs and the release lacks. A cluster with an unmanaged
// etcd needs none for etcd.
func (r *Release) Missing(etcd hyperv1.EtcdManagementType) []string {
	var missing []string
	for _, image := range names.RequiredImages {
		if r.Components[image] == "" && (image != names.Etcd || etcd != hyperv1.Unmanaged) {
			missing = append(missing, image)
		}
	}
	return missing
}

// BootImage returns the image for machines of an architecture and a region of AWS.
func (r *Release) BootImage(arch hyperv1.Architecture, region string) (BootImage, bool) {
	image, ok := r.BootImages[arch][region]
	return image, ok
}

// Carries reports whether the payload may have images for arch. It accepts a payload that does not specify its architecture.
func (r *Release) Carries(arch hyperv1.Architecture) bool {
	return r.Architecture == "" || r.Architecture == hyperv1.Multi || r.Architecture == payloadArchitectures[string(arch)]
}
