package requirements

import (
	"strings"
	"testing"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodepooltest"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/objects"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

func TestTheReleaseOrTheUserNamesTheImageAndItsFormat(t *testing.T) {
	for name, c := range map[string]struct {
		image       release.BootImage
		ami, format string // of the user
		config      map[string]any
		want        release.BootImage
		refused     string
	}{
		"an image of a release of OpenShift": {
			image: release.BootImage{AMI: "ami-r"}, want: release.BootImage{AMI: "ami-r", UserDataFormat: hyperv1.UserDataFormatIgnition},
		},
		"an image of the release with cloud-init": {
			image: release.BootImage{AMI: "ami-r", UserDataFormat: hyperv1.UserDataFormatCloudConfig}, want: release.BootImage{AMI: "ami-r", UserDataFormat: hyperv1.UserDataFormatCloudConfig},
		},
		"an image of the user reads Ignition by default": {
			image: release.BootImage{AMI: "ami-r", UserDataFormat: hyperv1.UserDataFormatCloudConfig}, ami: "ami-u", want: release.BootImage{AMI: "ami-u", UserDataFormat: hyperv1.UserDataFormatIgnition},
		},
		"an image of the user with cloud-init": {
			ami: "ami-u", format: "cloud-config", want: release.BootImage{AMI: "ami-u", UserDataFormat: hyperv1.UserDataFormatCloudConfig},
		},
		"a format that this version does not write": {
			image: release.BootImage{AMI: "ami-r", UserDataFormat: "toml"}, refused: `reads user data as "toml"`,
		},
		"a MachineConfig that cloud-init cannot apply": {
			ami: "ami-u", format: "cloud-config", config: map[string]any{"ignition": map[string]any{"version": "3.4.0"}, "kernelArguments": map[string]any{"shouldExist": []any{"quiet"}}},
			refused: "kernelArguments.shouldExist of a MachineConfig cannot be written for cloud-init",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &objects.Pool{NodePool: nodepooltest.NodePool(), HostedCluster: nodepooltest.HostedCluster()}
			p.NodePool.Spec.Platform.AWS.AMI = c.ami
			p.NodePool.Annotations = map[string]string{hyperv1.UserDataFormatAnnotation: c.format}
			rel, config := nodepooltest.Release("1.36.3", "ami-136"), nodeconfig.Config{}
			rel.BootImages[hyperv1.ArchitectureAMD64][nodepooltest.Region] = c.image
			if c.config != nil {
				config.Ignition = []map[string]any{c.config}
			}
			got, err := MachineImage(p, rel, config)
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("got %v, want %q", err, c.refused)
				}
				return
			}
			if err != nil || got != c.want {
				t.Errorf("got %+v (%v), want %+v", got, err, c.want)
			}
		})
	}
}
