package workersecuritygroup

import hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"

// statusPart has the fields of the status that this controller writes.
type statusPart struct {
	Platform            *hyperv1.PlatformStatus            `json:"platform,omitempty"`
	WorkerSecurityGroup *hyperv1.WorkerSecurityGroupRecord `json:"workerSecurityGroup,omitempty"`
}
