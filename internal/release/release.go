package release

import (
	"context"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// A Resolver tells what is in a release image. pullSecret is the content of a Secret's key .dockerconfigjson; without one, the
// registry is asked as anybody may. An error is an *Error.
type Resolver interface {
	Resolve(ctx context.Context, image string, pullSecret []byte) (*Release, error)
}

// A Release is what one release payload says. It is shared by all who ask: do not change it.
type Release struct {
	// Image is the image as it was asked for; Digest is that of its manifest, such as sha256:….
	Image, Digest string
	// Version is the version of the payload, such as 1.36.3 or 4.21.3: a semantic version without a v.
	Version string
	// KubernetesVersion is the version of the Kubernetes in it, in the same form. It is Version itself for a payload of plain
	// Kubernetes.
	KubernetesVersion string
	// Architecture is that of the payload, empty if it does not say.
	Architecture hyperv1.PayloadArchType
	// Components has the images of the parts by name, as they are to be pulled.
	Components map[string]string
	// BootImages has the AMIs by architecture and region.
	BootImages map[hyperv1.Architecture]map[string]string
}

// Missing returns the images, by name and in order, that a control plane needs and the release lacks. A user who brings an etcd needs
// none of the release.
func (r *Release) Missing(etcd hyperv1.EtcdManagementType) []string {
	var missing []string
	for _, image := range names.RequiredImages {
		if r.Components[image] == "" && (image != names.Etcd || etcd != hyperv1.Unmanaged) {
			missing = append(missing, image)
		}
	}
	return missing
}

// AMI is the image that a machine of that architecture boots from in that region of AWS.
func (r *Release) AMI(arch hyperv1.Architecture, region string) (string, bool) {
	ami, ok := r.BootImages[arch][region]
	return ami, ok
}

// Carries says whether the payload may have images for arch: one that does not say for what it is, is not held against it.
func (r *Release) Carries(arch hyperv1.Architecture) bool {
	return r.Architecture == "" || r.Architecture == hyperv1.Multi || r.Architecture == payloadArchitectures[string(arch)]
}
