package images

import (
	"context"
	"fmt"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/internal/release/payload"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// region is the region of the emulator.
const region = "us-east-1"

// machineImages are the machine images of a release: images of the emulator. The image of the newer release, with which most
// scenarios run, resolves names and names its root device as the images of Ubuntu do.
var machineImages = map[string]release.BootImage{
	"1.37.2": {AMI: awsemulator.ImageAMD64Ubuntu, UserDataFormat: hyperv1.UserDataFormatCloudConfig, RootDevice: "/dev/sda1"},
	"1.36.3": {AMI: awsemulator.ImageAMD64Older, UserDataFormat: hyperv1.UserDataFormatCloudConfig},

	OldestNodes: {AMI: awsemulator.ImageAMD64Older, UserDataFormat: hyperv1.UserDataFormatCloudConfig},
}

// PushReleases pushes the payload of each of these versions, with the images in the set, and returns their names by digest.
func PushReleases(ctx context.Context, o Options, set Set, versions ...string) (map[string]string, error) {
	releases := map[string]string{}
	for _, version := range versions {
		var err error
		if releases[version], err = PushRelease(ctx, o, "v"+version, Describe(set, version)); err != nil {
			return nil, err
		}
	}
	return releases, nil
}

// PushRelease pushes a payload and returns its name by digest. The tag is for users.
func PushRelease(ctx context.Context, o Options, tag string, d *payload.Description) (string, error) {
	img, err := d.Image()
	if err != nil {
		return "", fmt.Errorf("making release %s: %w", tag, err)
	}
	return o.push(ctx, "kubernetes-release", tag, img)
}

// Describe returns the content of a release: the images of its version, and those that all releases share.
func Describe(set Set, version string) *payload.Description {
	components := map[string]string{}
	for _, i := range table() {
		if ref, pushed := set[i.key()]; pushed && !i.apart && (i.version == "" || i.version == version) {
			components[i.name] = ref
		}
	}
	return &payload.Description{
		Version:    version,
		Components: components,
		BootImages: map[hyperv1.Architecture]map[string]release.BootImage{
			hyperv1.ArchitectureAMD64: {region: machineImages[version]},
			hyperv1.ArchitectureARM64: {region: {AMI: awsemulator.ImageARM64}},
		},
	}
}
