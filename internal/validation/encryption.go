package validation

import (
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// kmsKeyARN captures the region of the key in its second group.
var kmsKeyARN = regexp.MustCompile(`^arn:(aws|aws-cn|aws-us-gov):kms:([a-z0-9-]+):[0-9]{12}:(?:key|alias)/.+$`)

// encryption rejects a request for encryption that cannot be fulfilled. No control plane is created for a cluster that would not encrypt
// its Secrets.
func encryption(enc *hyperv1.SecretEncryptionSpec, path *field.Path) field.ErrorList {
	if enc == nil {
		return nil
	}
	var errs field.ErrorList
	switch enc.Type {
	case hyperv1.AESCBC:
		if enc.KMS != nil {
			errs = append(errs, configuration.forbidden(path.Child("kms"), "secretEncryption.type is aescbc and secretEncryption.kms is set: remove one of them"))
		}
		if enc.AESCBC == nil || enc.AESCBC.ActiveKey.Name == "" {
			errs = append(errs, configuration.required(path.Child("aescbc", "activeKey", "name"),
				"secretEncryption.type is aescbc and no key is named: set secretEncryption.aescbc.activeKey to a Secret with 32 bytes under key"))
		}
	case hyperv1.KMS:
		if enc.AESCBC != nil {
			errs = append(errs, configuration.forbidden(path.Child("aescbc"), "secretEncryption.type is kms and secretEncryption.aescbc is set: remove one of them"))
		}
		if enc.KMS == nil || enc.KMS.Provider != hyperv1.AWSKMS || enc.KMS.AWS == nil {
			return append(errs, configuration.required(path.Child("kms", "aws"),
				"secretEncryption.type is kms and no key is named: set secretEncryption.kms.provider to AWS and secretEncryption.kms.aws to the key and the role that may use it"))
		}
		errs = append(errs, kms(enc.KMS.AWS, path.Child("kms", "aws"))...)
	default:
		errs = append(errs, configuration.unsupported(path.Child("type"), enc.Type, "secretEncryption.type is %q: use kms or aescbc", enc.Type))
	}
	return errs
}

func kms(spec *hyperv1.AWSKMSSpec, path *field.Path) field.ErrorList {
	errs := kmsKey(spec.ActiveKey.ARN, spec.Region, path.Child("activeKey", "arn"), "activeKey.arn")
	if backup := spec.BackupKey; backup != nil { //nolint:staticcheck // deprecated, and still accepted
		errs = append(errs, kmsKey(backup.ARN, spec.Region, path.Child("backupKey", "arn"), "backupKey.arn")...)
	}
	if role := spec.Auth.AWSKMSRoleARN; !roleARN.MatchString(role) {
		errs = append(errs, configuration.invalid(path.Child("auth", "awsKms"), role,
			"secretEncryption.kms.aws.auth.awsKms is %q, which is not the ARN of a role: write it like arn:aws:iam::123456789012:role/name", role))
	}
	return errs
}

func kmsKey(arn, region string, path *field.Path, name string) field.ErrorList {
	m := kmsKeyARN.FindStringSubmatch(arn)
	switch {
	case m == nil:
		return field.ErrorList{configuration.invalid(path, arn,
			"secretEncryption.kms.aws.%s is %q, which is not the ARN of a key: write it like arn:aws:kms:us-east-1:123456789012:key/id", name, arn)}
	case m[2] != region:
		return field.ErrorList{configuration.invalid(path, arn,
			"secretEncryption.kms.aws.%s is in region %s and secretEncryption.kms.aws.region is %s: make them the same", name, m[2], region)}
	}
	return nil
}

// EncryptionUpdate rejects the removal or replacement of the kind of encryption
// by which the Secrets in etcd are encrypted. inUse is nil without encryption.
func EncryptionUpdate(desired, inUse *hyperv1.SecretEncryptionSpec) field.ErrorList {
	if inUse == nil {
		return nil
	}
	path := spec.Child("secretEncryption")
	switch {
	case desired == nil || desired.Type == "":
		return field.ErrorList{configuration.required(path, "secretEncryption of type %s was removed, and what is in etcd could not be read without it: set it again", inUse.Type)}
	case desired.Type == inUse.Type:
		return nil
	}
	return field.ErrorList{configuration.invalid(path.Child("type"), desired.Type,
		"secretEncryption.type was changed from %s to %s, and what is in etcd could not be read any more: set it back to %s; to change the kind of encryption create another cluster", inUse.Type, desired.Type, inUse.Type)}
}
