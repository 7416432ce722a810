package nodepool

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/validation"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// checkArch refuses architectures that AWS or the release does not have.
func (r *Reconciler) checkArch(_ context.Context, s *scope) error {
	arch := s.arch()
	if arch != hyperv1.ArchitectureAMD64 && arch != hyperv1.ArchitectureARM64 {
		return reconcile.Block(hyperv1.NodePoolValidationFailedReason, "AWS has no machines of arch %s: create a pool with amd64 or arm64", arch)
	}
	if !s.release.Carries(arch) {
		return reconcile.Block(hyperv1.NodePoolArchMismatchReason, "release %s has images for %s only, and the pool has arch %s: choose a release for several architectures, or one for %s", s.release.Version, s.release.Architecture, arch, arch)
	}
	return nil
}

// resolveImage determines the AMI of the machines.
func (r *Reconciler) resolveImage(_ context.Context, s *scope) error {
	if s.aws().AMI != "" {
		s.ami = s.aws().AMI
		return nil
	}
	ami, errs := imageFor(s.release, s.aws().ImageType, s.arch(), s.region())
	s.ami = ami
	return blockOn(errs)
}

func imageFor(rel *release.Release, imageType hyperv1.ImageType, arch hyperv1.Architecture, region string) (string, field.ErrorList) {
	path := field.NewPath("spec", "platform", "aws", "ami")
	if imageType == hyperv1.ImageTypeWindows {
		return "", field.ErrorList{validation.Errorf(hyperv1.NodePoolImageUnknownReason, path, imageType, "release %s names no Windows image: set platform.aws.ami to one in %s", rel.Version, region)}
	}
	ami, ok := rel.AMI(arch, region)
	if !ok {
		return "", field.ErrorList{validation.Errorf(hyperv1.NodePoolImageUnknownReason, path, arch, "release %s names no machine image for arch %s in region %s: set platform.aws.ami, or choose another release", rel.Version, arch, region)}
	}
	return ami, nil
}
