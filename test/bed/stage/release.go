package stage

import (
	"context"
	"fmt"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/release/payload"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/bed/registry"
)

// startRegistry starts a registry with the release that the samples' clusters run.
func (s *Stage) startRegistry(ctx context.Context) (err error) {
	if s.registry, err = registry.Start(); err != nil {
		return err
	}
	s.ReleaseImage, err = s.PushRelease(ctx, "1.36.3")
	return err
}

// PushRelease puts a release of a version into the registry, and gives the name of its image. Its machine images are those of
// the emulator.
func (s *Stage) PushRelease(ctx context.Context, version string) (string, error) {
	image, err := s.registry.Push(ctx, "kubernetes-release:v"+version, &payload.Description{
		Version:    version,
		Components: map[string]string{"kube-apiserver": "registry.example.test/kube-apiserver:v" + version},
		BootImages: map[hyperv1.Architecture]map[string]string{
			hyperv1.ArchitectureAMD64: {region: awsemulator.ImageAMD64},
			hyperv1.ArchitectureARM64: {region: awsemulator.ImageARM64},
		},
	})
	if err != nil {
		return "", fmt.Errorf("making a release: %w", err)
	}
	return image, nil
}
