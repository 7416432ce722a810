package v1beta1

// Reasons of EtcdDataEncryptionUpToDate.
const (
	// ReadKeyRolloutReason: the API servers are rolled out with the new key for reading. Keep all keys. If this lasts long, find
	// out why the kube-apiserver pods are not replaced.
	ReadKeyRolloutReason = "RollingOutReadKey"
	// WriteKeyRolloutReason: all API servers can read with the new key, and are rolled out to encrypt with it. Keep
	// all keys.
	WriteKeyRolloutReason = "RollingOutWriteKey"
	// ReencryptingReason: the Secrets in etcd are being rewritten with the new key. Keep all keys.
	ReencryptingReason = "Reencrypting"
	// ReencryptionFailedReason: objects cannot be rewritten with the new key. The message names one, with the API server's error.
	// Most often a webhook of the hosted cluster refuses the write, or a key is missing.
	ReencryptionFailedReason = "ReencryptionFailed"
	// RetainingOldKeysReason: everything is encrypted with the new key. The old keys stay for ten minutes, because clients may
	// still page through older lists.
	RetainingOldKeysReason = "RetainingOldKeys"
	// DroppingOldKeysReason: the API servers are rolled out without the old keys. Afterwards the old keys may be deleted.
	DroppingOldKeysReason = "DroppingOldKeys"
	// EncryptionKeyMissingReason: no Secret contains a key that may have been used for encryption. The API servers keep running
	// unchanged. Create the Secret that the message names again, with the same key.
	EncryptionKeyMissingReason = "EncryptionKeyMissing"
	// EncryptionUnknownReason: the keys that the API servers use cannot be determined. Restore the Secret that the
	// message names.
	EncryptionUnknownReason = "EncryptionUnknown"
	// TooManyKeysReason: the key was changed many times before a migration was complete. The operator completes the present
	// migration first.
	TooManyKeysReason = "TooManyKeys"
)
