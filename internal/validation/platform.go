package validation

import (
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func platform(s *hyperv1.HostedClusterSpec) field.ErrorList {
	if s.Platform.Type != hyperv1.AWSPlatform {
		return nil
	}
	path, aws := spec.Child("platform", "aws"), s.Platform.AWS
	if aws == nil {
		return field.ErrorList{reason(hyperv1.PlatformConfigMissingReason).required(path, "platform.type is AWS and platform.aws is missing: add it")}
	}
	errs := append(roles(aws, path), principals(aws.AdditionalAllowedPrincipals, path.Child("additionalAllowedPrincipals"))...)
	if !s.Platform.PrivateLink() {
		return errs
	}
	if aws.CloudProviderConfig == nil || aws.CloudProviderConfig.VPC == "" {
		errs = append(errs, configuration.required(path.Child("cloudProviderConfig", "vpc"),
			"endpointAccess %s needs to know where to make the endpoint: set platform.aws.cloudProviderConfig.vpc", aws.EndpointAccess))
	}
	if len(s.Networking.MachineNetwork) == 0 {
		errs = append(errs, configuration.required(spec.Child("networking", "machineNetwork"),
			"endpointAccess %s needs to know who may reach the endpoint: set networking.machineNetwork to the address ranges of the VPC", aws.EndpointAccess))
	}
	return errs
}

var (
	roleARN      = regexp.MustCompile(`^arn:(aws|aws-cn|aws-us-gov):iam::[0-9]{12}:role/.+$`)
	principalARN = regexp.MustCompile(`^arn:(aws|aws-cn|aws-us-gov):iam::[0-9]{12}:(root|role/.+|user/.+)$`)
)

func roles(aws *hyperv1.AWSPlatformSpec, path *field.Path) field.ErrorList {
	type role struct {
		at   *field.Path
		name string
		arn  hyperv1.RoleARN
	}
	var all []role
	add := func(parent, name string, arn hyperv1.RoleARN) {
		at := path
		if parent != "" {
			at = at.Child(parent)
			parent += "."
		}
		all = append(all, role{at.Child("rolesRef", name), parent + "rolesRef." + name, arn})
	}
	ref := aws.RolesRef
	optional := func(name string, arn hyperv1.RoleARN) {
		if arn != "" {
			add("", name, arn)
		}
	}
	optional("ingressARN", ref.IngressARN)
	optional("imageRegistryARN", ref.ImageRegistryARN)
	optional("storageARN", ref.StorageARN)
	optional("networkARN", ref.NetworkARN)
	add("", "kubeCloudControllerARN", ref.KubeCloudControllerARN)
	add("", "nodePoolManagementARN", ref.NodePoolManagementARN)
	add("", "controlPlaneOperatorARN", ref.ControlPlaneOperatorARN)
	if shared := aws.SharedVPC; shared != nil {
		add("sharedVPC", "ingressARN", shared.RolesRef.IngressARN)
		add("sharedVPC", "controlPlaneARN", shared.RolesRef.ControlPlaneARN)
	}
	var errs field.ErrorList
	for _, r := range all {
		if !roleARN.MatchString(string(r.arn)) {
			errs = append(errs, configuration.invalid(r.at, r.arn,
				"platform.aws.%s is %q, which is not the ARN of a role: write it like arn:aws:iam::123456789012:role/name", r.name, r.arn))
		}
	}
	return errs
}

func principals(arns []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, arn := range arns {
		if !principalARN.MatchString(arn) {
			errs = append(errs, configuration.invalid(path.Index(i), arn,
				"platform.aws.additionalAllowedPrincipals has %q, which is not the ARN of an account, role or user: write it like arn:aws:iam::123456789012:role/name", arn))
		}
	}
	return errs
}
