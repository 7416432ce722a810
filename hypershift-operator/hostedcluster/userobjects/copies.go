package userobjects

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/secretencryption"
	"github.com/hosted-control-planes/hypershift/internal/validation"
)

// Copies returns the copies that the control plane needs. A source that is missing
// or invalid leaves the last valid copy, so that running programs are not interrupted;
// fault, nil without one, reports it. inUse is the encryption of the Secrets in etcd.
func (r *Reader) Copies(ctx context.Context, hc *hyperv1.HostedCluster, inUse *hyperv1.SecretEncryptionRecord) (copies []client.Object, fault *reconcile.Waiting, err error) {
	var reason string
	var faults []string
	done := map[string]bool{}
	for _, ref := range References(hc) {
		data, source, wait, err := r.readOrCopy(ctx, ref)
		if err != nil {
			return nil, nil, err
		}
		if wait != nil {
			reason = cmp.Or(reason, wait.Reason)
			faults = append(faults, wait.Message)
		}
		if id := ref.copyID(); data != nil && !done[id] {
			done[id] = true
			copies = append(copies, r.desiredCopy(ref, source, data))
		}
	}
	kept, err := r.encryptionKeysInUse(ctx, inUse, done)
	if err != nil {
		return nil, nil, err
	}
	if len(faults) > 0 {
		fault = &reconcile.Waiting{Reason: reason, Message: strings.Join(faults, "; ")}
	}
	return append(copies, kept...), fault, nil
}

// PullSecret returns the copy of the pull secret under which pods use it.
func (r *Reader) PullSecret(ctx context.Context, spec *hyperv1.HostedClusterSpec) (client.Object, error) {
	ref := PullSecretOf(spec)
	data, err := r.Read(ctx, ref)
	if err != nil {
		return nil, err
	}
	return r.namespace.Secret(ref.CopyName(), corev1.SecretTypeDockerConfigJson, only(data, ref.Keys)), nil
}

// TrustHash identifies the contents of the user's trust bundle, "" without one.
func (r *Reader) TrustHash(ctx context.Context, spec *hyperv1.HostedClusterSpec) (string, error) {
	if spec.AdditionalTrustBundle == nil {
		return "", nil
	}
	data, _, _, err := r.readOrCopy(ctx, trustBundleOf(spec))
	if err != nil || data == nil {
		return "", err
	}
	sum := sha256.Sum256(data[TrustBundleKey])
	return hex.EncodeToString(sum[:8]), nil
}

// readOrCopy returns the data that the copy must have, nil for none, and the name
// of the source. When the source is faulty, that is the data of the last copy.
func (r *Reader) readOrCopy(ctx context.Context, ref Reference) (data map[string][]byte, source string, fault *reconcile.Waiting, err error) {
	data, err = r.Read(ctx, ref)
	if errors.As(err, &fault) {
		data, source, err = r.lastCopy(ctx, ref)
		return data, source, fault, err
	}
	return data, *ref.Name, nil, err
}

// lastCopy returns the data of the copy, nil for none, and the name of its source.
func (r *Reader) lastCopy(ctx context.Context, ref Reference) (data map[string][]byte, source string, err error) {
	secret, cm := &corev1.Secret{}, &corev1.ConfigMap{}
	var obj client.Object = secret
	if ref.Kind == ConfigMap {
		obj = cm
	}
	err = r.cached.Get(ctx, r.namespace.Key(ref.CopyName()), obj)
	if apierrors.IsNotFound(err) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("getting the copy of %s %s: %w", ref.Kind, *ref.Name, err)
	}
	data = secret.Data
	if ref.Kind == ConfigMap {
		data = dataOf(cm)
	}
	return data, obj.GetAnnotations()[hyperv1.CopiedFromAnnotation], nil
}

// desiredCopy has all keys unless the name of the copy is fixed. It is Opaque
// whatever the type of the source: the type of a Secret cannot be changed, and the
// user may replace the source by one of another type.
func (r *Reader) desiredCopy(ref Reference, source string, data map[string][]byte) client.Object {
	if ref.fixed != "" {
		data = only(data, ref.Keys)
	}
	if ref.Kind == Secret {
		secret := r.namespace.Secret(ref.CopyName(), corev1.SecretTypeOpaque, data)
		secret.Annotations[hyperv1.CopiedFromAnnotation] = source
		return secret
	}
	cm := &corev1.ConfigMap{ObjectMeta: r.namespace.ObjectMeta(ref.CopyName()), Data: map[string]string{}, BinaryData: map[string][]byte{}}
	cm.Annotations[hyperv1.CopiedFromAnnotation] = source
	for key, value := range data {
		if utf8.Valid(value) {
			cm.Data[key] = string(value)
		} else {
			cm.BinaryData[key] = value
		}
	}
	return cm
}

// only returns the part of data under the keys.
func only(data map[string][]byte, keys []string) map[string][]byte {
	part := map[string][]byte{}
	for _, key := range keys {
		part[key] = data[key]
	}
	return part
}

// WithCopies returns the spec with the names of the copies instead of the names of
// the user's objects.
func WithCopies(hc *hyperv1.HostedCluster) *hyperv1.HostedClusterSpec {
	changed := hc.DeepCopy()
	for _, ref := range all(changed) {
		*ref.Name = ref.CopyName()
	}
	return &changed.Spec
}

// CheckEncryptionKeys reports keys with which Secrets could not be encrypted, or
// not be decrypted again. The contents of a key in use must not change: its Secret
// may be deleted, but may not get another key.
func (r *Reader) CheckEncryptionKeys(ctx context.Context, hc *hyperv1.HostedCluster) (field.ErrorList, error) {
	var errs field.ErrorList
	for _, ref := range References(hc) {
		if !ref.required {
			continue
		}
		inUse, _, err := r.lastCopy(ctx, ref)
		if err != nil {
			return nil, err
		}
		data, err := r.Read(ctx, ref)
		var wait *reconcile.Waiting
		switch {
		case errors.As(err, &wait) && inUse != nil:
			// The copy is sufficient, and the copying step reports the fault.
		case errors.As(err, &wait):
			errs = append(errs, validation.Errorf(wait.Reason, ref.path(), *ref.Name, "%s", wait.Message))
		case err != nil:
			return nil, err
		case inUse != nil && !bytes.Equal(inUse[EncryptionKeyKey], data[EncryptionKeyKey]):
			errs = append(errs, validation.Errorf(hyperv1.InvalidSecretReason, ref.path(), *ref.Name,
				"Secret %s, which %s names, has got another key, and what the old one encrypted could not be read any more: put the old key back, and name another Secret for the new one", *ref.Name, ref.Field))
		}
	}
	return errs, nil
}

// CheckActiveContents reports invalid contents that a program of the control plane
// acts on. tolerated are the contents with a valid copy, which stays in use.
func (r *Reader) CheckActiveContents(ctx context.Context, hc *hyperv1.HostedCluster) (rejected, tolerated field.ErrorList, err error) {
	for _, ref := range References(hc) {
		if !ref.active {
			continue
		}
		_, err := r.Read(ctx, ref)
		var wait *reconcile.Waiting
		switch {
		case err == nil, errors.As(err, &wait) && wait.Reason != hyperv1.InvalidSecretReason:
			continue // the copying step reports a missing object
		case wait == nil:
			return nil, nil, err
		}
		copied, _, err := r.lastCopy(ctx, ref)
		if err != nil {
			return nil, nil, err
		}
		fault := validation.Errorf(wait.Reason, ref.path(), *ref.Name, "%s", wait.Message)
		if copied != nil {
			tolerated = append(tolerated, fault)
			continue
		}
		rejected = append(rejected, fault)
	}
	return rejected, tolerated, nil
}

// encryptionKeysInUse returns the copies of keys that spec no longer names and
// with which Secrets in etcd may be encrypted. done are the copies that spec names.
func (r *Reader) encryptionKeysInUse(ctx context.Context, inUse *hyperv1.SecretEncryptionRecord, done map[string]bool) ([]client.Object, error) {
	var kept []client.Object
	for _, key := range secretencryption.Needed(inUse) {
		if key.Provider != hyperv1.AESCBC {
			continue
		}
		ref := Reference{Kind: Secret, Name: &key.Name, Keys: []string{EncryptionKeyKey}}
		if done[ref.copyID()] {
			continue
		}
		data, source, err := r.lastCopy(ctx, ref)
		if err != nil {
			return nil, err
		}
		if data != nil && secretencryption.Fingerprint(data[EncryptionKeyKey]) == key.Fingerprint {
			done[ref.copyID()] = true
			kept = append(kept, r.desiredCopy(ref, source, data))
		}
	}
	return kept, nil
}
