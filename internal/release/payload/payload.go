// Package payload builds release payloads: images that package release can read.
package payload

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// A Description holds the content of a payload. Package release defines its meaning.
type Description struct {
	Version string `json:"version"`
	// KubernetesVersion defaults to Version.
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// Architecture of the images: multi if it is empty.
	Architecture string            `json:"architecture,omitempty"`
	Components   map[string]string `json:"components"`
	// Versions are the versions of the programs in components, by component. Default: the version in the tag of the image.
	Versions map[string]string `json:"versions,omitempty"`
	// BootImages are the machine images by architecture and region: an AMI, or an object with image, userDataFormat
	// and rootDevice.
	BootImages map[hyperv1.Architecture]map[string]release.BootImage `json:"bootImages,omitempty"`
}

// Parse reads a description, YAML or JSON. An unknown field is an error: it would be missing in the payload.
func Parse(text []byte) (*Description, error) {
	d := &Description{}
	if err := yaml.UnmarshalStrict(text, d); err != nil {
		return nil, fmt.Errorf("reading the description of a payload: %w", err)
	}
	if d.Version == "" || len(d.Components) == 0 {
		return nil, errors.New("the description of a payload needs a version and components")
	}
	for arch, regions := range d.BootImages {
		for region, image := range regions {
			switch image.UserDataFormat {
			case "", hyperv1.UserDataFormatIgnition, hyperv1.UserDataFormatCloudConfig:
			default:
				return nil, fmt.Errorf("the machine image for %s in %s has userDataFormat %q: write %s or %s", arch, region, image.UserDataFormat, hyperv1.UserDataFormatIgnition, hyperv1.UserDataFormatCloudConfig)
			}
			if image.RootDevice != "" && !strings.HasPrefix(image.RootDevice, "/dev/") {
				return nil, fmt.Errorf("the machine image for %s in %s has rootDevice %q: write RootDeviceName of the image, such as /dev/sda1", arch, region, image.RootDevice)
			}
		}
	}
	return d, nil
}

// object is a JSON object.
type object = map[string]any

// Files returns the files of the payload by path.
func (d *Description) Files() (map[string][]byte, error) {
	references, err := json.MarshalIndent(d.references(), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the references: %w", err)
	}
	files := map[string][]byte{"release-manifests/image-references": references}
	if len(d.BootImages) == 0 {
		return files, nil
	}
	stream, err := json.Marshal(d.stream())
	if err != nil {
		return nil, fmt.Errorf("writing the boot images: %w", err)
	}
	files["release-manifests/0000_50_installer_coreos-bootimages.yaml"], err = yaml.Marshal(object{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   object{"namespace": "openshift-machine-config-operator", "name": "coreos-bootimages"},
		"data":       object{"stream": string(stream)},
	})
	return files, err
}

// taggedVersion matches the version in the tag of an image, which may have the revision of a build: etcd:3.6.8-0.
var taggedVersion = regexp.MustCompile(`:v?([0-9]+\.[0-9]+\.[0-9]+)(-[0-9]+)?(@|$)`)

// VersionOf returns the version of the program in a component, or "" if it is not known.
func (d *Description) VersionOf(component string) string {
	if version := d.Versions[component]; version != "" {
		return version
	}
	if match := taggedVersion.FindStringSubmatch(d.Components[component]); match != nil {
		return match[1]
	}
	return ""
}

func (d *Description) references() object {
	kubernetes := d.KubernetesVersion
	if kubernetes == "" {
		kubernetes = d.Version
	}
	architecture := d.Architecture
	if architecture == "" {
		architecture = "multi"
	}
	var tags []object
	for _, name := range slices.Sorted(maps.Keys(d.Components)) {
		versions := "kubernetes=" + kubernetes
		if version := d.VersionOf(name); version != "" {
			versions += "," + name + "=" + version
		}
		tags = append(tags, object{
			"name":        name,
			"annotations": object{"io.openshift.build.versions": versions},
			"from":        object{"kind": "DockerImage", "name": d.Components[name]},
		})
	}
	return object{
		"apiVersion": "image.openshift.io/v1",
		"kind":       "ImageStream",
		"metadata":   object{"name": d.Version, "annotations": object{"release.openshift.io/architecture": architecture}},
		"spec":       object{"tags": tags},
	}
}

// coreOSName maps architectures to their names in boot image metadata.
var coreOSName = map[hyperv1.Architecture]string{
	hyperv1.ArchitectureAMD64: "x86_64", hyperv1.ArchitectureARM64: "aarch64",
}

func (d *Description) stream() object {
	architectures := object{}
	for arch, images := range d.BootImages {
		regions := object{}
		for region, image := range images {
			fields := object{"release": d.Version, "image": image.AMI}
			if image.UserDataFormat != "" {
				fields["userDataFormat"] = image.UserDataFormat
			}
			if image.RootDevice != "" {
				fields["rootDevice"] = image.RootDevice
			}
			regions[region] = fields
		}
		name, ok := coreOSName[arch]
		if !ok {
			name = string(arch)
		}
		architectures[name] = object{"images": object{"aws": object{"regions": regions}}}
	}
	return object{"stream": d.Version, "architectures": architectures}
}

// Image returns the payload. The same description always gives the same digest.
func (d *Description) Image() (v1.Image, error) {
	files, err := d.Files()
	if err != nil {
		return nil, err
	}
	return ImageOf(files)
}

// ImageOf returns an image of one layer with these files.
func ImageOf(files map[string][]byte) (v1.Image, error) {
	archive, err := archiveOf(files)
	if err != nil {
		return nil, fmt.Errorf("packing the files: %w", err)
	}
	layer, err := tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("making the layer: %w", err)
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	base, err = mutate.ConfigFile(base, &v1.ConfigFile{OS: "linux", Architecture: "amd64", RootFS: v1.RootFS{Type: "layers"}})
	if err != nil {
		return nil, fmt.Errorf("configuring the image: %w", err)
	}
	image, err := mutate.AppendLayers(base, layer)
	if err != nil {
		return nil, fmt.Errorf("adding the layer: %w", err)
	}
	return image, nil
}

// archiveOf writes no times and no owners.
func archiveOf(files map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(files[name]))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(files[name]); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
