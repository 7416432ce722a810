package hostedcluster

import (
	"bytes"
	"context"
	"errors"
	"regexp"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/secretencryption"
)

// kmsKeyARN has the region of the key in its second group.
var kmsKeyARN = regexp.MustCompile(`^arn:(aws|aws-cn|aws-us-gov):kms:([a-z0-9-]+):[0-9]{12}:(?:key|alias)/.+$`)

// checkEncryption refuses a promise of encryption that could not be kept.
// Nothing is made for a cluster that would keep its Secrets in the clear.
func checkEncryption(hc *hyperv1.HostedCluster) []problem {
	enc := hc.Spec.SecretEncryption
	if enc == nil {
		return nil
	}
	var problems []problem
	say := func(format string, args ...any) {
		problems = append(problems, problemf(hyperv1.InvalidConfigurationReason, format, args...))
	}
	switch enc.Type {
	case hyperv1.AESCBC:
		if enc.KMS != nil {
			say("secretEncryption.type is aescbc and secretEncryption.kms is set: remove one of them")
		}
		if enc.AESCBC == nil || enc.AESCBC.ActiveKey.Name == "" {
			say("secretEncryption.type is aescbc and no key is named: set secretEncryption.aescbc.activeKey to a Secret with 32 bytes under %s", aescbcKey)
		}
	case hyperv1.KMS:
		if enc.AESCBC != nil {
			say("secretEncryption.type is kms and secretEncryption.aescbc is set: remove one of them")
		}
		if enc.KMS == nil || enc.KMS.Provider != hyperv1.AWSKMS || enc.KMS.AWS == nil {
			say("secretEncryption.type is kms and no key is named: set secretEncryption.kms.provider to AWS and secretEncryption.kms.aws to the key and the role that may use it")
			break
		}
		problems = append(problems, checkKMS(enc.KMS.AWS)...)
	default:
		say("secretEncryption.type is %q: use kms or aescbc", enc.Type)
	}
	return problems
}

func checkKMS(kms *hyperv1.AWSKMSSpec) []problem {
	var problems []problem
	say := func(format string, args ...any) {
		problems = append(problems, problemf(hyperv1.InvalidConfigurationReason, format, args...))
	}
	check := func(field, arn string) {
		m := kmsKeyARN.FindStringSubmatch(arn)
		switch {
		case m == nil:
			say("secretEncryption.kms.aws.%s is %q, which is not the ARN of a key: write it like arn:aws:kms:us-east-1:123456789012:key/id", field, arn)
		case m[2] != kms.Region:
			say("secretEncryption.kms.aws.%s is in region %s and secretEncryption.kms.aws.region is %s: make them the same", field, m[2], kms.Region)
		}
	}
	check("activeKey.arn", kms.ActiveKey.ARN)
	if backup := kms.BackupKey; backup != nil { //nolint:staticcheck // deprecated, and in use where somebody still sets it
		check("backupKey.arn", backup.ARN)
	}
	if !roleARN.MatchString(kms.Auth.AWSKMSRoleARN) {
		say("secretEncryption.kms.aws.auth.awsKms is %q, which is not the ARN of a role: write it like arn:aws:iam::123456789012:role/name", kms.Auth.AWSKMSRoleARN)
	}
	return problems
}

// checkEncryptionKept refuses to take away, or to replace by another kind, what
// opens the Secrets that a living cluster has in etcd.
func checkEncryptionKept(hc *hyperv1.HostedCluster, hcp *hyperv1.HostedControlPlane) []problem {
	if hcp == nil || hcp.Spec.SecretEncryption == nil {
		return nil
	}
	was, is := hcp.Spec.SecretEncryption.Type, hyperv1.SecretEncryptionType("")
	if hc.Spec.SecretEncryption != nil {
		is = hc.Spec.SecretEncryption.Type
	}
	switch is {
	case was:
		return nil
	case "":
		return []problem{problemf(hyperv1.InvalidConfigurationReason, "secretEncryption of type %s was removed, and what is in etcd could not be read without it: set it again", was)}
	}
	return []problem{problemf(hyperv1.InvalidConfigurationReason,
		"secretEncryption.type was changed from %s to %s, and what is in etcd could not be read any more: set it back to %s; to change the kind of encryption create another cluster", was, is, was)}
}

// checkEncryptionKeys lists what stands against the promise that no Secret is
// kept in the clear, and that each can be read again. A key that is in use stays
// what it was: its Secret may go, but may not get another key.
func (r *Reconciler) checkEncryptionKeys(ctx context.Context, s *scope) ([]problem, error) {
	var problems []problem
	for _, ref := range references(s.hc) {
		if !ref.first {
			continue
		}
		inUse, _, err := r.lastCopy(ctx, s, ref)
		if err != nil {
			return nil, err
		}
		data, err := r.brought(ctx, s, ref)
		var wait *reconcile.Waiting
		switch {
		case errors.As(err, &wait) && inUse != nil:
			// The copy is as good, and who copies says what is wrong.
		case errors.As(err, &wait):
			problems = append(problems, problem{reason: wait.Reason, message: wait.Message})
		case err != nil:
			return nil, err
		case inUse != nil && !bytes.Equal(inUse[aescbcKey], data[aescbcKey]):
			problems = append(problems, problemf(hyperv1.InvalidSecretReason,
				"Secret %s, which %s names, has got another key, and what the old one encrypted could not be read any more: put the old key back, and name another Secret for the new one", *ref.name, ref.field))
		}
	}
	return problems, nil
}

// keptKeys are the copies of keys that spec no longer names and with which
// something in etcd may be encrypted. done has those that spec names.
func (r *Reconciler) keptKeys(ctx context.Context, s *scope, done map[string]bool) ([]client.Object, error) {
	if s.hcp == nil {
		return nil, nil
	}
	var kept []client.Object
	for _, key := range secretencryption.Needed(s.hcp.Status.SecretEncryption) {
		if key.Provider != hyperv1.AESCBC {
			continue
		}
		ref := reference{kind: inSecret, name: &key.Name, keys: []string{aescbcKey}}
		id := string(ref.kind) + "/" + ref.copy()
		if done[id] {
			continue
		}
		data, source, err := r.lastCopy(ctx, s, ref)
		if err != nil {
			return nil, err
		}
		if data != nil && secretencryption.Fingerprint(data[aescbcKey]) == key.Fingerprint {
			done[id] = true
			kept = append(kept, s.desiredCopy(ref, source, data))
		}
	}
	return kept, nil
}
