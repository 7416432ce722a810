package workersecuritygroup

import hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"

// statusPart holds the status fields that this controller writes.
type statusPart struct {
	Platform            *hyperv1.PlatformStatus            `json:"platform,omitempty"`
	WorkerSecurityGroup *hyperv1.WorkerSecurityGroupRecord `json:"workerSecurityGroup,omitempty"`
}
