package v1beta1

import "strconv"

// KeepsCloudResources reports whether the user keeps the cloud resources of the cluster when it is deleted.
func (in *HostedControlPlane) KeepsCloudResources() bool {
	remove, err := strconv.ParseBool(in.Annotations[CleanupCloudResourcesAnnotation])
	return err == nil && !remove
}
