package controlplane

import (
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// requiredRoles are the AWS roles that every cluster on AWS needs.
var requiredRoles = []struct {
	field string
	role  func(hyperv1.AWSRolesRef) hyperv1.RoleARN
}{
	{"kubeCloudControllerARN", func(r hyperv1.AWSRolesRef) hyperv1.RoleARN { return r.KubeCloudControllerARN }},
	{"nodePoolManagementARN", func(r hyperv1.AWSRolesRef) hyperv1.RoleARN { return r.NodePoolManagementARN }},
	{"controlPlaneOperatorARN", func(r hyperv1.AWSRolesRef) hyperv1.RoleARN { return r.ControlPlaneOperatorARN }},
}

// CheckRoles blocks on a required role that is empty.
func CheckRoles(platform hyperv1.PlatformSpec) error {
	if platform.Type != hyperv1.AWSPlatform || platform.AWS == nil {
		return nil
	}
	for _, required := range requiredRoles {
		if required.role(platform.AWS.RolesRef) == "" {
			return reconcile.Block(hyperv1.PlatformCredentialsNotFoundReason, "spec.platform.aws.rolesRef.%s is empty: name the role", required.field)
		}
	}
	return nil
}
