package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SigningKeyStage is a stage of a rotation of the key that signs service account tokens. The stages follow each other in the
// order in which they are listed.
//
// +kubebuilder:validation:Enum=Publish;Switch;Retain;Retire
type SigningKeyStage string

const (
	// SigningKeyPublish means that the new key is published and accepted, and does not sign yet.
	SigningKeyPublish SigningKeyStage = "Publish"
	// SigningKeySwitch means that programs are rolled out to sign with the new key.
	SigningKeySwitch SigningKeyStage = "Switch"
	// SigningKeyRetain means that the new key signs. Tokens of old keys may still be valid, and are accepted.
	SigningKeyRetain SigningKeyStage = "Retain"
	// SigningKeyRetire means that API servers are rolled out without the keys that were retired.
	SigningKeyRetire SigningKeyStage = "Retire"
)

// ServiceAccountSigningKeyStatus reports the keys of service account tokens, and the rotation in progress.
type ServiceAccountSigningKeyStatus struct {
	// keyID identifies the key that signs. The header of tokens has it as kid.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	KeyID string `json:"keyID,omitempty"`

	// stage is the stage of the rotation in progress. Absent without one.
	//
	// +optional
	Stage SigningKeyStage `json:"stage,omitempty"`

	// stageTime is the time at which the stage began.
	//
	// +optional
	StageTime *metav1.Time `json:"stageTime,omitempty"`

	// nextStageTime is the earliest time of the next stage. Absent while it depends on an event, which the condition
	// ServiceAccountSigningKeyRotated names.
	//
	// +optional
	NextStageTime *metav1.Time `json:"nextStageTime,omitempty"`

	// nextKeyID identifies the key that will sign.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	NextKeyID string `json:"nextKeyID,omitempty"`

	// oldKeys are keys that do not sign any more, and that are accepted. The newest is the last.
	//
	// +optional
	// +listType=map
	// +listMapKey=keyID
	// +kubebuilder:validation:MaxItems=10
	OldKeys []OldSigningKeyStatus `json:"oldKeys,omitempty"`
}

// OldSigningKeyStatus is a key that does not sign any more.
type OldSigningKeyStatus struct {
	// keyID identifies the key.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	KeyID string `json:"keyID,omitempty"`

	// replacedTime is the time at which no program signed with it any more. Absent before.
	//
	// +optional
	ReplacedTime *metav1.Time `json:"replacedTime,omitempty"`

	// retainedUntil is the earliest time at which it can be retired.
	//
	// +optional
	RetainedUntil *metav1.Time `json:"retainedUntil,omitempty"`
}

// ServiceAccountKeysStatus reports how far the control plane uses the keys in Secret sa-signing-key. It is absent without a rotation.
type ServiceAccountKeysStatus struct {
	// loadedRevision is the revision of the Secret that all API servers and kube-controller-managers have loaded.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	LoadedRevision string `json:"loadedRevision,omitempty"`

	// trustedByAWS is the ID of the next key, as soon as AWS has accepted a token of it.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	TrustedByAWS string `json:"trustedByAWS,omitempty"`

	// checksTokens is true while old keys could be retired. The operator then looks for their tokens in the hosted cluster.
	//
	// +optional
	ChecksTokens *bool `json:"checksTokens,omitempty"`

	// oldKeys reports tokens of old keys in the hosted cluster.
	//
	// +optional
	// +listType=map
	// +listMapKey=keyID
	// +kubebuilder:validation:MaxItems=10
	OldKeys []OldSigningKeyTokens `json:"oldKeys,omitempty"`

	// message names what the operator waits for.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// OldSigningKeyTokens reports tokens of one key in the hosted cluster.
type OldSigningKeyTokens struct {
	// keyID identifies the key.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	KeyID string `json:"keyID,omitempty"`

	// secrets is the number of Secrets of type kubernetes.io/service-account-token with a token of the key. These tokens do not expire.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	Secrets *int32 `json:"secrets,omitempty"`

	// secretNames are the first of these Secrets, as namespace/name.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	SecretNames []string `json:"secretNames,omitempty"`

	// pods is the number of pods that are older than the end of the key's use. Their tokens are valid for up to a year.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	Pods *int32 `json:"pods,omitempty"`
}
