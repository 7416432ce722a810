package controlplane

import (
	"testing"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func TestRolesThatEveryClusterNeeds(t *testing.T) {
	const role = hyperv1.RoleARN("arn:aws:iam::222222222222:role/demo")
	all := hyperv1.AWSRolesRef{KubeCloudControllerARN: role, NodePoolManagementARN: role, ControlPlaneOperatorARN: role}
	for name, tc := range map[string]struct {
		change func(*hyperv1.PlatformSpec)
		want   string
	}{
		"those of other programs are optional": {func(*hyperv1.PlatformSpec) {}, ""},
		"other platforms have none":            {func(p *hyperv1.PlatformSpec) { *p = hyperv1.PlatformSpec{Type: hyperv1.NonePlatform} }, ""},
		"no role of the cloud-controller-manager": {
			func(p *hyperv1.PlatformSpec) { p.AWS.RolesRef.KubeCloudControllerARN = "" },
			"spec.platform.aws.rolesRef.kubeCloudControllerARN is empty: name the role",
		},
		"no role of Cluster API's provider": {
			func(p *hyperv1.PlatformSpec) { p.AWS.RolesRef.NodePoolManagementARN = "" },
			"spec.platform.aws.rolesRef.nodePoolManagementARN is empty: name the role",
		},
		"no role of the control-plane-operator": {
			func(p *hyperv1.PlatformSpec) { p.AWS.RolesRef.ControlPlaneOperatorARN = "" },
			"spec.platform.aws.rolesRef.controlPlaneOperatorARN is empty: name the role",
		},
	} {
		t.Run(name, func(t *testing.T) {
			platform := hyperv1.PlatformSpec{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSPlatformSpec{RolesRef: all}}
			tc.change(&platform)
			got := ""
			if err := CheckRoles(platform); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
