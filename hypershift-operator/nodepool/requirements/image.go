package requirements

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/objects"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/internal/validation"
)

// Arch refuses architectures that AWS or the release does not have.
func Arch(arch hyperv1.Architecture, rel *release.Release) error {
	if arch != hyperv1.ArchitectureAMD64 && arch != hyperv1.ArchitectureARM64 {
		return reconcile.Block(hyperv1.NodePoolValidationFailedReason, "AWS has no machines of arch %s: create a pool with amd64 or arm64", arch)
	}
	if !rel.Carries(arch) {
		return reconcile.Block(hyperv1.NodePoolArchMismatchReason, "release %s has images for %s only, and the pool has arch %s: choose a release for several architectures, or one for %s", rel.Version, rel.Architecture, arch, arch)
	}
	return nil
}

// MachineImage returns the AMI of the machines, and the format of the user data that it reads. config is the configuration in the
// user data.
func MachineImage(p *objects.Pool, rel *release.Release, config nodeconfig.Config) (release.BootImage, error) {
	image := release.BootImage{AMI: p.AWS().AMI, UserDataFormat: hyperv1.UserDataFormat(p.NodePool.Annotations[hyperv1.UserDataFormatAnnotation])}
	if image.AMI == "" {
		var errs field.ErrorList
		if image, errs = imageFor(rel, p.AWS().ImageType, p.Arch(), p.Region()); len(errs) > 0 {
			return release.BootImage{}, blockOn(errs)
		}
	}
	image.UserDataFormat = cmp.Or(image.UserDataFormat, hyperv1.UserDataFormatIgnition)
	if problems := nodeconfig.CheckFormat(config, image.UserDataFormat); len(problems) > 0 {
		return image, reconcile.Wait(PollInterval, hyperv1.InvalidConfigMapReason, "the machine image %s reads %s: %s", image.AMI, image.UserDataFormat, strings.Join(problems, "; "))
	}
	return image, nil
}

func imageFor(rel *release.Release, imageType hyperv1.ImageType, arch hyperv1.Architecture, region string) (release.BootImage, field.ErrorList) {
	path := field.NewPath("spec", "platform", "aws", "ami")
	if imageType == hyperv1.ImageTypeWindows {
		return release.BootImage{}, field.ErrorList{validation.Errorf(hyperv1.NodePoolImageUnknownReason, path, imageType, "release %s names no Windows image: set platform.aws.ami to one in %s", rel.Version, region)}
	}
	image, ok := rel.BootImage(arch, region)
	if !ok {
		return release.BootImage{}, field.ErrorList{validation.Errorf(hyperv1.NodePoolImageUnknownReason, path, arch, "release %s names no machine image for arch %s in region %s: set platform.aws.ami, or choose another release", rel.Version, arch, region)}
	}
	switch image.UserDataFormat {
	case "", hyperv1.UserDataFormatIgnition, hyperv1.UserDataFormatCloudConfig:
		return image, nil
	}
	return release.BootImage{}, field.ErrorList{validation.Errorf(hyperv1.NodePoolImageUnknownReason, path, image.AMI, "the machine image %s of release %s reads user data as %q, which this version does not write: set platform.aws.ami, or choose another release", image.AMI, rel.Version, image.UserDataFormat)}
}
