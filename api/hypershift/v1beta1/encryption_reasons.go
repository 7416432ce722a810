package v1beta1

// Reasons of EtcdDataEncryptionUpToDate.
const (
	// ReadKeyRolloutReason: the API servers are rolled out with the new key for reading. Keep all keys in this and the next two
	// stages.
	ReadKeyRolloutReason = "RollingOutReadKey"
	// WriteKeyRolloutReason: the API servers are rolled out to encrypt with the new key.
	WriteKeyRolloutReason = "RollingOutWriteKey"
	// ReencryptingReason: the Secrets in etcd are being rewritten with the new key, 20 per second. Their content does not change.
	ReencryptingReason = "Reencrypting"
	// ReencryptionFailedReason: the API server refuses to rewrite the object in the message with the new key. Most often a
	// webhook refuses it, or a key is missing.
	ReencryptionFailedReason = "ReencryptionFailed"
	// RetainingOldKeysReason: everything is encrypted with the new key. The old keys stay for ten minutes, for clients that page
	// through older lists.
	RetainingOldKeysReason = "RetainingOldKeys"
	// DroppingOldKeysReason: the API servers are rolled out without the old keys. Afterwards the old keys may be deleted.
	DroppingOldKeysReason = "DroppingOldKeys"
	// EncryptionKeyMissingReason: a key that may have been used is in no Secret. Create the Secret that the message names
	// again, with the same key.
	EncryptionKeyMissingReason = "EncryptionKeyMissing"
	// EncryptionUnknownReason: the keys of the API servers cannot be determined. Restore the Secret that the message names.
	EncryptionUnknownReason = "EncryptionUnknown"
	// TooManyKeysReason: the key was changed many times before a migration was complete. The operator completes the present
	// migration first.
	TooManyKeysReason = "TooManyKeys"
)
