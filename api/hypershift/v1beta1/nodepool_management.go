package v1beta1

import (
	"k8s.io/apimachinery/pkg/util/intstr"
)

// NodePoolManagement configures how the nodes of a pool are replaced and repaired.
//
// +kubebuilder:validation:XValidation:rule="!has(self.inPlace) || self.upgradeType == 'InPlace'",message="the block inPlace belongs to upgradeType InPlace: remove it, or change upgradeType"
type NodePoolManagement struct {
	// upgradeType is Replace: a change creates new machines. InPlace, which would apply a change on the existing
	// machines, is reserved: a pool with it creates no machines. It cannot be changed.
	// +unionDiscriminator
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="upgradeType cannot be changed: create a new NodePool"
	UpgradeType UpgradeType `json:"upgradeType"`

	// replace configures how new machines replace old ones. It has no effect with InPlace.
	// +optional
	// +kubebuilder:default={strategy: "RollingUpdate", rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
	Replace *ReplaceUpgrade `json:"replace,omitempty"`

	// inPlace configures how many nodes may be updated at a time. It is reserved, like upgradeType InPlace.
	// +optional
	InPlace *InPlaceUpgrade `json:"inPlace,omitempty"`

	// autoRepair replaces machines with a node that stays unhealthy.
	// +optional
	// +kubebuilder:default=false
	AutoRepair bool `json:"autoRepair"`
}

// UpgradeType is the way in which a change is applied to the nodes.
//
// +kubebuilder:validation:Enum=Replace;InPlace
type UpgradeType string

// Ways to apply a change to the nodes. InPlace is reserved and has no effect yet.
const (
	UpgradeTypeReplace UpgradeType = "Replace"
	UpgradeTypeInPlace UpgradeType = "InPlace"
)

// ReplaceUpgrade configures how new machines replace old ones.
//
// +kubebuilder:validation:XValidation:rule="!has(self.rollingUpdate) || !has(self.strategy) || self.strategy == 'RollingUpdate'",message="the block rollingUpdate belongs to strategy RollingUpdate: remove it, or change strategy"
type ReplaceUpgrade struct {
	// strategy is RollingUpdate (the operator replaces machines gradually) or OnDelete (a machine is replaced when a
	// person deletes it).
	// +unionDiscriminator
	// +optional
	Strategy UpgradeStrategy `json:"strategy,omitempty"`

	// rollingUpdate limits how many machines may be missing or surplus during a roll-out.
	// +optional
	RollingUpdate *RollingUpdate `json:"rollingUpdate,omitempty"`
}

// UpgradeStrategy is the way in which new machines replace old ones.
//
// +kubebuilder:validation:Enum=RollingUpdate;OnDelete
type UpgradeStrategy string

// Ways in which new machines replace old ones.
const (
	UpgradeStrategyRollingUpdate UpgradeStrategy = "RollingUpdate"
	UpgradeStrategyOnDelete      UpgradeStrategy = "OnDelete"
)

// RollingUpdate limits how many machines may be missing or surplus during a roll-out.
//
// +kubebuilder:validation:XValidation:rule="!((self.maxSurge == 0 || self.maxSurge == '0%') && (self.maxUnavailable == 0 || self.maxUnavailable == '0%'))",message="with maxSurge and maxUnavailable both zero a rollout cannot move: set one of them to 1 or more (unset, maxSurge is 1 and maxUnavailable is 0)"
type RollingUpdate struct {
	// maxUnavailable is the number or percentage ("25%") of nodes that may be missing.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^(0|[1-9][0-9]?|100)%$')",message="maxUnavailable must be a number that is not negative, or a percentage from 0% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// maxSurge is the number or percentage ("25%") of nodes that may exist in addition.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^(0|[1-9][0-9]?|100)%$')",message="maxSurge must be a number that is not negative, or a percentage from 0% to 100%"
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`
}

// InPlaceUpgrade configures how many nodes may be updated at a time.
type InPlaceUpgrade struct {
	// maxUnavailable is the number or percentage ("25%") of nodes that may be updated at a time.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self > 0 : self.matches('^([1-9][0-9]?|100)%$')",message="inPlace.maxUnavailable must be 1 or more, or a percentage from 1% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}
