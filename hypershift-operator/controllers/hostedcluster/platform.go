package hostedcluster

import (
	"context"
	"regexp"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// checkSupport refuses what this installation cannot do.
func (r *Reconciler) checkSupport(_ context.Context, s *scope) error {
	if s.aws() != nil && r.missing != "" {
		return reconcile.Block(hyperv1.UnsupportedClusterReason,
			"the management cluster does not have %s: apply the files of config/crd/external, and restart the hypershift-operator", r.missing)
	}
	if !s.hc.Spec.Platform.PrivateLink() {
		return nil
	}
	switch region := s.aws().Region; r.PrivateRegion {
	case region:
		return nil
	case "":
		return reconcile.Block(hyperv1.UnsupportedClusterReason,
			"endpointAccess %s needs an installation that can make endpoint services: start the hypershift-operator with --private-platform=AWS and credentials for AWS, or use endpointAccess Public", s.aws().EndpointAccess)
	default:
		return reconcile.Block(hyperv1.UnsupportedClusterReason,
			"endpointAccess %s needs the cluster to be in region %s, where this installation makes endpoint services, and it is in %s: create the cluster there, or use endpointAccess Public", s.aws().EndpointAccess, r.PrivateRegion, region)
	}
}

// checkPlatform judges spec.platform.
func checkPlatform(hc *hyperv1.HostedCluster) []problem {
	if hc.Spec.Platform.Type != hyperv1.AWSPlatform {
		return nil
	}
	aws := hc.Spec.Platform.AWS
	if aws == nil {
		return []problem{problemf(hyperv1.PlatformConfigMissingReason, "platform.type is AWS and platform.aws is missing: add it")}
	}
	problems := append(checkRoles(aws), checkPrincipals(aws)...)
	if hc.Spec.Platform.PrivateLink() && (aws.CloudProviderConfig == nil || aws.CloudProviderConfig.VPC == "") {
		problems = append(problems, problemf(hyperv1.InvalidConfigurationReason,
			"endpointAccess %s needs to know where to make the endpoint: set platform.aws.cloudProviderConfig.vpc", aws.EndpointAccess))
	}
	if hc.Spec.Platform.PrivateLink() && len(hc.Spec.Networking.MachineNetwork) == 0 {
		problems = append(problems, problemf(hyperv1.InvalidConfigurationReason,
			"endpointAccess %s needs to know who may reach the endpoint: set networking.machineNetwork to the address ranges of the VPC", aws.EndpointAccess))
	}
	return problems
}

var (
	roleARN      = regexp.MustCompile(`^arn:(aws|aws-cn|aws-us-gov):iam::[0-9]{12}:role/.+$`)
	principalARN = regexp.MustCompile(`^arn:(aws|aws-cn|aws-us-gov):iam::[0-9]{12}:(root|role/.+|user/.+)$`)
)

func checkRoles(aws *hyperv1.AWSPlatformSpec) []problem {
	type named struct {
		field string
		arn   hyperv1.RoleARN
	}
	ref := aws.RolesRef
	roles := []named{
		{"rolesRef.ingressARN", ref.IngressARN}, {"rolesRef.imageRegistryARN", ref.ImageRegistryARN}, {"rolesRef.storageARN", ref.StorageARN},
		{"rolesRef.networkARN", ref.NetworkARN}, {"rolesRef.kubeCloudControllerARN", ref.KubeCloudControllerARN},
		{"rolesRef.nodePoolManagementARN", ref.NodePoolManagementARN}, {"rolesRef.controlPlaneOperatorARN", ref.ControlPlaneOperatorARN},
	}
	if aws.SharedVPC != nil {
		roles = append(roles, named{"sharedVPC.rolesRef.ingressARN", aws.SharedVPC.RolesRef.IngressARN}, named{"sharedVPC.rolesRef.controlPlaneARN", aws.SharedVPC.RolesRef.ControlPlaneARN})
	}
	var problems []problem
	for _, r := range roles {
		if !roleARN.MatchString(string(r.arn)) {
			problems = append(problems, problemf(hyperv1.InvalidConfigurationReason,
				"platform.aws.%s is %q, which is not the ARN of a role: write it like arn:aws:iam::123456789012:role/name", r.field, r.arn))
		}
	}
	return problems
}

func checkPrincipals(aws *hyperv1.AWSPlatformSpec) []problem {
	var problems []problem
	for _, p := range aws.AdditionalAllowedPrincipals {
		if !principalARN.MatchString(p) {
			problems = append(problems, problemf(hyperv1.InvalidConfigurationReason,
				"platform.aws.additionalAllowedPrincipals has %q, which is not the ARN of an account, role or user: write it like arn:aws:iam::123456789012:role/name", p))
		}
	}
	return problems
}
