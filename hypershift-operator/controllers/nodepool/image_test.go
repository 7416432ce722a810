package nodepool

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
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
			s := judged(func(np *hyperv1.NodePool) {
				np.Spec.Platform.AWS.AMI = c.ami
				np.Annotations = map[string]string{hyperv1.UserDataFormatAnnotation: c.format}
			})
			s.release.BootImages[hyperv1.ArchitectureAMD64][region] = c.image
			if c.config != nil {
				s.inputs.Pool.Ignition = []map[string]any{c.config}
			}
			err := (&Reconciler{}).resolveImage(t.Context(), s)
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("got %v, want %q", err, c.refused)
				}
				return
			}
			if got := (release.BootImage{AMI: s.ami, UserDataFormat: s.format}); err != nil || got != c.want {
				t.Errorf("got %+v (%v), want %+v", got, err, c.want)
			}
		})
	}
}

// The provider would store user data for cloud-init in Secrets Manager, and refuses settings for both formats.
func TestAMachineWithCloudInitGetsItsUserDataFromEC2(t *testing.T) {
	s := judged(nil)
	s.format = hyperv1.UserDataFormatCloudConfig
	got := desiredMachine(s)
	if got.Ignition != nil || got.CloudInit != (infrav1.CloudInit{InsecureSkipSecretsManager: true}) || !ptr.Deref(got.UncompressedUserData, false) {
		t.Errorf("Ignition %+v, cloud-init %+v, uncompressed %v", got.Ignition, got.CloudInit, got.UncompressedUserData)
	}
	template, err := desiredBootstrap(s, "config")
	if err != nil || template.Spec.Template.Spec.UserDataFormat != hyperv1.UserDataFormatCloudConfig {
		t.Errorf("the template is %+v, %v", template, err)
	}
	s.format = hyperv1.UserDataFormatIgnition
	other, err := desiredBootstrap(s, "config")
	if err != nil || other.Name == template.Name {
		t.Errorf("templates of both formats are named %s, %v", other.Name, err)
	}
}
