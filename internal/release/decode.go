package release

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/yamlsize"
)

const (
	// versionsAnnotation, on an image, lists the versions of the programs in it: kubernetes=1.36.3,etcd=3.6.8.
	versionsAnnotation = "io.openshift.build.versions"
	// architectureAnnotation, on the payload, is the architecture of its images, or multi.
	architectureAnnotation = "release.openshift.io/architecture"
)

// imageStream is the type of the file image-references.
type imageStream struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Tags []imageTag `json:"tags"`
	} `json:"spec"`
}

type imageTag struct {
	Name        string            `json:"name"`
	Annotations map[string]string `json:"annotations"`
	From        struct {
		Name string `json:"name"`
	} `json:"from"`
}

// decodeReferences reads image-references.
func decodeReferences(text []byte) (*Release, error) {
	var stream imageStream
	if err := json.Unmarshal(text, &stream); err != nil {
		return nil, notRelease("%s is not JSON", referencesFile)
	}
	if stream.Kind != "ImageStream" {
		return nil, notRelease("%s is not an ImageStream", referencesFile)
	}
	r := &Release{
		Version:      canonical(stream.Metadata.Name),
		Architecture: payloadArchitectures[strings.ToLower(stream.Metadata.Annotations[architectureAnnotation])],
		Components:   map[string]string{},
	}
	if r.Version == "" {
		return nil, notRelease("%s has the name %q, which is not a version", referencesFile, clip(stream.Metadata.Name))
	}
	for _, tag := range stream.Spec.Tags {
		if _, twice := r.Components[tag.Name]; twice || tag.Name == "" {
			return nil, notRelease("%s names component %q twice, or not at all", referencesFile, clip(tag.Name))
		}
		if _, err := name.ParseReference(tag.From.Name); err != nil {
			return nil, notRelease("%s has no image for component %q that could be pulled", referencesFile, clip(tag.Name))
		}
		r.Components[tag.Name] = tag.From.Name
		if tag.Name == names.Etcd {
			r.EtcdVersion = tag.version("etcd")
		}
	}
	r.KubernetesVersion = cmp.Or(kubernetesVersion(stream.Spec.Tags), plainKubernetes(r.Version))
	if r.KubernetesVersion == "" {
		return nil, notRelease("%s names no version of Kubernetes: no component is annotated with %s: kubernetes=…", referencesFile, versionsAnnotation)
	}
	return r, nil
}

// kubernetesVersion returns the version of the first image, by name, that has one.
func kubernetesVersion(tags []imageTag) string {
	tags = slices.SortedFunc(slices.Values(tags), func(a, b imageTag) int { return strings.Compare(a.Name, b.Name) })
	for _, tag := range tags {
		if v := tag.version("kubernetes"); v != "" {
			return v
		}
	}
	return ""
}

// version returns the version of a program in the image, or "" if the payload does not specify it.
func (t imageTag) version(program string) string {
	for entry := range strings.SplitSeq(t.Annotations[versionsAnnotation], ",") {
		if v, ok := strings.CutPrefix(strings.TrimSpace(entry), program+"="); ok && canonical(v) != "" {
			return canonical(v)
		}
	}
	return ""
}

// plainKubernetes returns the version itself if it is one of Kubernetes.
func plainKubernetes(v string) string {
	if !strings.HasPrefix(v, "1.") {
		return ""
	}
	return v
}

// canonical returns a semantic version without a v, or "" for another text.
func canonical(v string) string {
	parsed, err := version.ParseSemantic(v)
	if err != nil || len(v) > 64 {
		return ""
	}
	return parsed.String()
}

// clip limits the length of an untrusted text in a message.
func clip(s string) string {
	if len(s) <= 64 {
		return s
	}
	return strings.ToValidUTF8(s[:64], "") + "…"
}

var payloadArchitectures = map[string]hyperv1.PayloadArchType{
	"multi": hyperv1.Multi, "amd64": hyperv1.AMD64, "arm64": hyperv1.ARM64, "ppc64le": hyperv1.PPC64LE, "s390x": hyperv1.S390X,
}

// machineArchitectures maps architectures to their names in CoreOS.
var machineArchitectures = map[string]hyperv1.Architecture{
	"x86_64": hyperv1.ArchitectureAMD64, "aarch64": hyperv1.ArchitectureARM64,
	"ppc64le": hyperv1.ArchitecturePPC64LE, "s390x": hyperv1.ArchitectureS390X,
}

// coreOSStream is the metadata of a stream of boot images.
// https://github.com/coreos/stream-metadata-go
// A region has two additional fields, userDataFormat and rootDevice.
type coreOSStream struct {
	Architectures map[string]struct {
		Images struct {
			AWS struct {
				Regions map[string]BootImage `json:"regions"`
			} `json:"aws"`
		} `json:"images"`
	} `json:"architectures"`
}

// decodeBootImages reads the ConfigMap with the boot images.
func decodeBootImages(text []byte) (map[hyperv1.Architecture]map[string]BootImage, error) {
	var configMap struct {
		Data struct {
			Stream string `json:"stream"`
		} `json:"data"`
	}
	if yamlsize.Check(text) != nil || yaml.Unmarshal(text, &configMap) != nil {
		return nil, notRelease("its list of boot images is not YAML")
	}
	var stream coreOSStream
	if err := json.Unmarshal([]byte(configMap.Data.Stream), &stream); err != nil {
		return nil, notRelease("its list of boot images has no stream that is JSON")
	}
	images := map[hyperv1.Architecture]map[string]BootImage{}
	for machine, arch := range stream.Architectures {
		regions := map[string]BootImage{}
		for region, image := range arch.Images.AWS.Regions {
			if image.AMI != "" {
				regions[region] = image
			}
		}
		if architecture, ok := machineArchitectures[machine]; ok && len(regions) > 0 {
			images[architecture] = regions
		}
	}
	return images, nil
}
