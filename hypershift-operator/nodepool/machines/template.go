package machines

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

func desiredTemplate(s *Spec) (*infrav1.AWSMachineTemplate, error) {
	hash, err := templateHash(s)
	if err != nil {
		return nil, err
	}
	t := &infrav1.AWSMachineTemplate{ObjectMeta: s.clusterMeta(s.NodePool.Name + "-" + hash)}
	t.Spec.Template.Spec = desiredMachine(s)
	t.Spec.Template.Spec.InstanceMetadataOptions.HTTPPutResponseHopLimit = hopLimit(s.NodePool)
	return t, nil
}

// hashBytes is long enough for the names of templates never to collide.
const hashBytes = 10

// templateHash hashes the user's settings, and not the template that is made from them: another version of the operator
// computes the same name for the same NodePool. Tags and the security group of the cluster are left out, because they are
// changed in place.
func templateHash(s *Spec) (string, error) {
	requested := s.AWS().DeepCopy()
	requested.ResourceTags, requested.ImageType = nil, ""
	requested.AMI = s.AMI
	requested.InstanceProfile = instanceProfile(s)
	if requested.RootVolume != nil {
		requested.RootVolume.Type = volumeType(requested.RootVolume)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(requested)
	if err != nil {
		return "", fmt.Errorf("naming the machine template: %w", err)
	}
	if publicIP(s.HostedCluster) {
		fields["publicIP"] = true
	}
	if s.UserDataFormat == hyperv1.UserDataFormatCloudConfig {
		fields["userDataFormat"] = s.UserDataFormat
	}
	if limit := s.NodePool.Annotations[hyperv1.MetadataHopLimitAnnotation]; limit != "" {
		fields["hopLimit"] = limit
	}
	text, err := json.Marshal(fields) // sorted: the order of fields in the API does not matter
	if err != nil {
		return "", fmt.Errorf("naming the machine template: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:hashBytes]), nil
}

// edited compares the fields that are part of the hash in the name of a template. The other fields are updated in place.
func edited(current, desired *infrav1.AWSMachineTemplate) bool {
	c, d := current.Spec.Template.Spec.DeepCopy(), desired.Spec.Template.Spec.DeepCopy()
	for _, spec := range []*infrav1.AWSMachineSpec{c, d} {
		spec.AdditionalTags, spec.AdditionalSecurityGroups = nil, nil
	}
	return !equality.Semantic.DeepEqual(c, d)
}

func desiredMachine(s *Spec) infrav1.AWSMachineSpec {
	aws := s.AWS()
	spec := infrav1.AWSMachineSpec{
		InstanceType:             aws.InstanceType,
		AMI:                      infrav1.AMIReference{ID: ptr.To(s.AMI)},
		IAMInstanceProfile:       instanceProfile(s),
		Subnet:                   ptr.To(reference(aws.Subnet)),
		AdditionalSecurityGroups: desiredSecurityGroups(s),
		AdditionalTags:           desiredTags(s.NodePool, s.HostedCluster),
		RootVolume:               rootVolume(aws.RootVolume),
		// No key pair: the SSH key of the cluster is in the user data.
		SSHKeyName: ptr.To(""),
		// The user data is passed to EC2 directly. Its token can be used once and expires soon, so that the account needs no
		// store for secrets.
		UncompressedUserData: ptr.To(true),
		InstanceMetadataOptions: &infrav1.InstanceMetadataOptions{
			HTTPEndpoint:     infrav1.InstanceMetadataEndpointStateEnabled,
			HTTPProtocolIPv6: infrav1.InstanceMetadataEndpointStateDisabled,
			// IMDSv2 only: a request that an attacker makes a pod send gets no credentials.
			HTTPTokens:              infrav1.HTTPTokensStateRequired,
			HTTPPutResponseHopLimit: defaultHopLimit,
			InstanceMetadataTags:    infrav1.InstanceMetadataEndpointStateDisabled,
		},
		// The default of the CRD, so that a template is read as it was written.
		HostAffinity: ptr.To("default"),
	}
	if s.UserDataFormat == hyperv1.UserDataFormatCloudConfig {
		spec.CloudInit.InsecureSkipSecretsManager = true
	} else {
		spec.Ignition = &infrav1.Ignition{Version: ignitionVersion, StorageType: infrav1.IgnitionStorageTypeOptionUnencryptedUserData}
	}
	if publicIP(s.HostedCluster) {
		spec.PublicIP = ptr.To(true)
	}
	applyPlacement(&spec, aws.Placement)
	return spec
}

const (
	// defaultHopLimit keeps pods with a network of their own from reading user data and credentials of the machine: they are
	// one hop further. Pods of the host network, such as storage drivers, are not.
	defaultHopLimit = 1
)

// hopLimit returns the value of the annotation, or the default.
func hopLimit(np *hyperv1.NodePool) int64 {
	if limit, err := strconv.ParseInt(np.Annotations[hyperv1.MetadataHopLimitAnnotation], 10, 64); err == nil {
		return limit
	}
	return defaultHopLimit
}

// ignitionVersion is the version of the user data (package nodeconfig).
const ignitionVersion = "3.4"

func publicIP(hc *hyperv1.HostedCluster) bool {
	return hc.Annotations[hyperv1.AWSMachinePublicIPsAnnotation] == "true"
}

// instanceProfile defaults to the profile that the infrastructure command creates.
func instanceProfile(s *Spec) string {
	if p := s.AWS().InstanceProfile; p != "" {
		return p
	}
	return names.InstanceProfile(s.HostedCluster.Spec.InfraID)
}

func reference(ref hyperv1.AWSResourceReference) infrav1.AWSResourceReference {
	out := infrav1.AWSResourceReference{ID: ref.ID}
	for _, f := range ref.Filters {
		out.Filters = append(out.Filters, infrav1.Filter{Name: f.Name, Values: f.Values})
	}
	return out
}

func rootVolume(v *hyperv1.Volume) *infrav1.Volume {
	if v == nil {
		return nil
	}
	out := &infrav1.Volume{
		Size: v.Size, Type: infrav1.VolumeType(volumeType(v)), IOPS: v.IOPS, Encrypted: v.Encrypted, EncryptionKey: v.EncryptionKey,
	}
	if v.Throughput > 0 {
		out.Throughput = ptr.To(v.Throughput)
	}
	if v.EncryptionKey != "" && v.Encrypted == nil {
		out.Encrypted = ptr.To(true) // EC2 refuses a key without it
	}
	return out
}

// volumeType is gp3 in objects that were written without the default of the CRD.
func volumeType(v *hyperv1.Volume) hyperv1.VolumeType {
	if v.Type == "" {
		return hyperv1.VolumeTypeGP3
	}
	return v.Type
}
