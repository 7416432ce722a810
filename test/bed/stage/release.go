package stage

import (
	"context"
	"crypto/sha256"
	"fmt"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/release/payload"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/bed/registry"
)

// startRegistry starts a registry with the release that the samples' clusters run.
func (s *Stage) startRegistry(ctx context.Context) (err error) {
	if s.registry, err = registry.Start(); err != nil {
		return err
	}
	s.ReleaseImage, err = s.pushRelease(ctx, newer, awsemulator.ImageAMD64)
	return err
}

// The versions of the releases that there are, and of the kubelets in their machine images.
const newer, older = "1.36.3", "1.35.4"

var kubelets = map[string]string{
	awsemulator.ImageAMD64:      "v" + newer,
	awsemulator.ImageARM64:      "v" + newer,
	awsemulator.ImageAMD64Older: "v" + older,
}

// PushOlderRelease puts the release before the one that the samples' clusters run into the registry, and gives the name of its image.
func (s *Stage) PushOlderRelease(ctx context.Context) (string, error) {
	return s.pushRelease(ctx, older, awsemulator.ImageAMD64Older)
}

func (s *Stage) pushRelease(ctx context.Context, version, amd64 string) (string, error) {
	// No registry has these images: their pods are played.
	images := map[string]string{}
	for _, name := range names.RequiredImages {
		images[name] = fmt.Sprintf("registry.example.test/%s@sha256:%x", name, sha256.Sum256([]byte(name+version)))
	}
	image, err := s.registry.Push(ctx, "kubernetes-release:v"+version, &payload.Description{
		Version:    version,
		Components: images,
		BootImages: map[hyperv1.Architecture]map[string]string{
			hyperv1.ArchitectureAMD64: {region: amd64},
			hyperv1.ArchitectureARM64: {region: awsemulator.ImageARM64},
		},
	})
	if err != nil {
		return "", fmt.Errorf("making a release: %w", err)
	}
	return image, nil
}
