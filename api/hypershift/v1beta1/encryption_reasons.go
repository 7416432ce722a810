package v1beta1

// Reasons of EtcdDataEncryptionUpToDate.
const (
	// ReadKeyRolloutReason: the new key is being given to all API servers to read with. Keep all keys. Nothing to do unless it
	// lasts: then see why the pods of kube-apiserver are not replaced.
	ReadKeyRolloutReason = "RollingOutReadKey"
	// WriteKeyRolloutReason: all API servers read with the new key, and are being told to encrypt with it. Keep all keys.
	WriteKeyRolloutReason = "RollingOutWriteKey"
	// ReencryptingReason: what is in etcd is being rewritten with the new key. Keep all keys.
	ReencryptingReason = "Reencrypting"
	// ReencryptionFailedReason: objects cannot be rewritten with the new key; the message names one and the answer of the API
	// server. Most often a webhook of the hosted cluster refuses the write, or a key is gone. It is tried again.
	ReencryptionFailedReason = "ReencryptionFailed"
	// RetainingOldKeysReason: everything is encrypted with the new key. The old ones stay for ten minutes, in which clients may
	// read on in lists that they began before.
	RetainingOldKeysReason = "RetainingOldKeys"
	// DroppingOldKeysReason: the old keys are being taken from all API servers. When this is over they may be deleted.
	DroppingOldKeysReason = "DroppingOldKeys"
	// EncryptionKeyMissingReason: a key that may have encrypted something is in no Secret any more. The API servers go on as they
	// are and are not changed. Create the Secret that the message names again, with the same key.
	EncryptionKeyMissingReason = "EncryptionKeyMissing"
	// EncryptionUnknownReason: it cannot be told with which keys the API servers run. Put the Secret back that the message names.
	EncryptionUnknownReason = "EncryptionUnknown"
	// TooManyKeysReason: the key was changed many times before a change was over. The present change is finished first.
	TooManyKeysReason = "TooManyKeys"
)
