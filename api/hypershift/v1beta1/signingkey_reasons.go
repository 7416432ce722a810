package v1beta1

// Reasons of ServiceAccountSigningKeyRotated.
const (
	// PublishingSigningKeyReason: the new key is published, and API servers begin to accept it. It signs after a day, which
	// hypershift.openshift.io/service-account-signing-key-publication changes.
	PublishingSigningKeyReason = "PublishingSigningKey"
	// SwitchingSigningKeyReason: API servers and kube-controller-manager are rolled out to sign with the new key.
	SwitchingSigningKeyReason = "SwitchingSigningKey"
	// RetainingOldSigningKeysReason: the new key signs. Old keys are accepted until their tokens have expired. To end this
	// earlier, see docs/certificates.md.
	RetainingOldSigningKeysReason = "RetainingOldSigningKeys"
	// OldTokensRemainReason: a key is old enough to be retired, and the Secrets in the message have tokens of it, which never expire.
	// Remove data.token from each Secret, which then gets a new token, and distribute the new token.
	OldTokensRemainReason = "OldTokensRemain"
	// RetiringSigningKeysReason: API servers are rolled out without the keys that were retired.
	RetiringSigningKeysReason = "RetiringSigningKeys"
	// SigningKeyRequestInvalidReason: an annotation asks for a rotation that is not possible. The message names the annotation and
	// the correction.
	SigningKeyRequestInvalidReason = "SigningKeyRequestInvalid"
)
