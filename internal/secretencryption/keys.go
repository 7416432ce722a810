package secretencryption

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Key identifies a key by its provider and its fingerprint. Its name is for users.
type Key = hyperv1.SecretEncryptionKeyRecord

// Fingerprint returns the fingerprint of the bytes of an aescbc key, or of the ARN of a KMS key.
func Fingerprint(of []byte) string {
	sum := sha256.Sum256(of)
	return hex.EncodeToString(sum[:8])
}

// AESCBC returns the key with these bytes, from the Secret of that name.
func AESCBC(secret string, bytes []byte) Key {
	return Key{Provider: hyperv1.AESCBC, Name: secret, Fingerprint: Fingerprint(bytes)}
}

// KMS returns the key with that ARN.
func KMS(arn string) Key {
	return Key{Provider: hyperv1.KMS, Name: arn, Fingerprint: Fingerprint([]byte(arn))}
}

// Same reports whether both are the same key, independent of their names.
func Same(a, b Key) bool { return a.Provider == b.Provider && a.Fingerprint == b.Fingerprint }

func contains(keys []Key, key Key) bool {
	return slices.ContainsFunc(keys, func(k Key) bool { return Same(k, key) })
}

// union returns each key once, in the order of first appearance.
func union(lists ...[]Key) []Key {
	var each []Key
	for _, key := range slices.Concat(lists...) {
		if !contains(each, key) {
			each = append(each, key)
		}
	}
	return each
}

// A Configuration is the order of the keys: the first one encrypts, unless Secrets are still written in clear text. Clear
// text can always be read.
type Configuration struct {
	Keys []Key
	// InTheClear is set while no key encrypts.
	InTheClear bool
}

// Equal reports whether both have the same effect on API servers.
func (c Configuration) Equal(other Configuration) bool {
	return c.InTheClear == other.InTheClear && slices.EqualFunc(c.Keys, other.Keys, Same)
}

// Needed returns the keys with which values in etcd may be encrypted now or soon. A configuration without one of them loses
// data.
func Needed(st *hyperv1.SecretEncryptionRecord) []Key {
	if st == nil {
		return nil
	}
	keys := slices.Concat(optional(st.TargetKey), optional(st.ActiveKey))
	for _, move := range st.History {
		if move.CompletionTime == nil {
			keys = append(keys, move.To)
		}
	}
	return union(keys)
}

// Desired returns the configuration that follows from the status. backup is the additional key of the user for reading, and
// present are the keys of the current configuration: all of them stay until the stage that drops them.
func Desired(st *hyperv1.SecretEncryptionRecord, backup *Key, present []Key) Configuration {
	writer := Writer(st)
	if dropping(st) {
		return Configuration{Keys: union(optional(writer), optional(backup))}
	}
	kept := slices.DeleteFunc(slices.Clone(present), func(key Key) bool {
		return abandoned(st, key) && !contains(optional(backup), key)
	})
	return Configuration{
		Keys:       union(optional(writer), optional(st.TargetKey), optional(backup), Needed(st), kept),
		InTheClear: writer == nil,
	}
}

// Writer returns the key with which API servers encrypt, or nil.
func Writer(st *hyperv1.SecretEncryptionRecord) *Key {
	for i := range st.History {
		move := &st.History[i]
		if move.CompletionTime == nil && move.Stage != hyperv1.SecretEncryptionReadKey {
			return &move.To
		}
	}
	return st.ActiveKey
}

// Current returns the move that determines the configuration: the one in progress, or else the last completed one. It returns
// nil before the first move.
func Current(st *hyperv1.SecretEncryptionRecord) *hyperv1.SecretEncryptionMigration {
	if st == nil {
		return nil
	}
	for i := range st.History {
		move := &st.History[i]
		if st.TargetKey != nil || move.State == hyperv1.SecretEncryptionMigrationCompleted {
			return move
		}
	}
	return nil
}

// Rewrites reports whether the values in etcd are being rewritten, or will be next.
func Rewrites(st *hyperv1.SecretEncryptionRecord) bool {
	move := Current(st)
	return move != nil && (move.Stage == hyperv1.SecretEncryptionWriteKey || move.Stage == hyperv1.SecretEncryptionReencrypt)
}

// ReadsWithKMS reports whether API servers may have a KMS key for reading only, in addition to the key that encrypts: from
// before the first stage of a move to or from such a key until after its last.
func ReadsWithKMS(st *hyperv1.SecretEncryptionRecord) bool {
	move := Current(st)
	if move == nil || move.Stage == hyperv1.SecretEncryptionDone {
		return false
	}
	keys := slices.Concat(optional(st.ActiveKey), optional(st.TargetKey))
	for _, move := range st.History {
		keys = append(append(keys, move.To), optional(move.From)...)
	}
	writer := Writer(st)
	return slices.ContainsFunc(keys, func(key Key) bool {
		return key.Provider == hyperv1.KMS && (writer == nil || !Same(key, *writer))
	})
}

func dropping(st *hyperv1.SecretEncryptionRecord) bool {
	move := Current(st)
	return move != nil && (move.Stage == hyperv1.SecretEncryptionDrop || move.Stage == hyperv1.SecretEncryptionDone)
}

// abandoned reports whether the key was replaced before anything was encrypted with it. A KMS key that never worked must not
// stay in the configuration.
func abandoned(st *hyperv1.SecretEncryptionRecord, key Key) bool {
	if contains(Needed(st), key) {
		return false
	}
	for _, move := range st.History { // the latest move to it counts
		if Same(move.To, key) {
			return move.State == hyperv1.SecretEncryptionMigrationInterrupted && move.Stage == hyperv1.SecretEncryptionReadKey
		}
	}
	return false
}

func optional(key *Key) []Key {
	if key == nil {
		return nil
	}
	return []Key{*key}
}
