package v1beta1

import (
	"k8s.io/apimachinery/pkg/util/intstr"
)

// NodePoolManagement says how the nodes of a pool are replaced and repaired.
//
// +kubebuilder:validation:XValidation:rule="!has(self.inPlace) || self.upgradeType == 'InPlace'",message="the block inPlace belongs to upgradeType InPlace: remove it, or change upgradeType"
type NodePoolManagement struct {
	// upgradeType is Replace: a change makes new machines. InPlace, which would write a change onto the machines, is
	// reserved: a pool with it makes no machines. It cannot be changed.
	// +unionDiscriminator
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="upgradeType cannot be changed: create a new NodePool"
	UpgradeType UpgradeType `json:"upgradeType"`

	// replace says how new machines take the place of old ones. It has no effect with InPlace.
	// +optional
	// +kubebuilder:default={strategy: "RollingUpdate", rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
	Replace *ReplaceUpgrade `json:"replace,omitempty"`

	// inPlace says how many nodes may be under change at a time. It is reserved, as upgradeType InPlace is.
	// +optional
	InPlace *InPlaceUpgrade `json:"inPlace,omitempty"`

	// autoRepair replaces machines whose node stays broken.
	// +optional
	// +kubebuilder:default=false
	AutoRepair bool `json:"autoRepair"`
}

// UpgradeType is how a change reaches the nodes.
//
// +kubebuilder:validation:Enum=Replace;InPlace
type UpgradeType string

// How a change reaches the nodes. InPlace is reserved: nothing follows it yet.
const (
	UpgradeTypeReplace UpgradeType = "Replace"
	UpgradeTypeInPlace UpgradeType = "InPlace"
)

// ReplaceUpgrade says how new machines take the place of old ones.
//
// +kubebuilder:validation:XValidation:rule="!has(self.rollingUpdate) || !has(self.strategy) || self.strategy == 'RollingUpdate'",message="the block rollingUpdate belongs to strategy RollingUpdate: remove it, or change strategy"
type ReplaceUpgrade struct {
	// strategy is RollingUpdate (new machines come as old ones go) or OnDelete (a new machine comes when a person
	// deletes an old one).
	// +unionDiscriminator
	// +optional
	Strategy UpgradeStrategy `json:"strategy,omitempty"`

	// rollingUpdate bounds how many machines may be missing or too many meanwhile.
	// +optional
	RollingUpdate *RollingUpdate `json:"rollingUpdate,omitempty"`
}

// UpgradeStrategy is how new machines take the place of old ones.
//
// +kubebuilder:validation:Enum=RollingUpdate;OnDelete
type UpgradeStrategy string

// How new machines take the place of old ones.
const (
	UpgradeStrategyRollingUpdate UpgradeStrategy = "RollingUpdate"
	UpgradeStrategyOnDelete      UpgradeStrategy = "OnDelete"
)

// RollingUpdate bounds how many machines may be missing or too many during a rollout.
//
// +kubebuilder:validation:XValidation:rule="!((self.maxSurge == 0 || self.maxSurge == '0%') && (self.maxUnavailable == 0 || self.maxUnavailable == '0%'))",message="with maxSurge and maxUnavailable both zero a rollout cannot move: set one of them to 1 or more (unset, maxSurge is 1 and maxUnavailable is 0)"
type RollingUpdate struct {
	// maxUnavailable is how many nodes, or what part of them ("25%"), may be missing.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^(0|[1-9][0-9]?|100)%$')",message="maxUnavailable must be a number that is not negative, or a percentage from 0% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// maxSurge is how many nodes, or what part of them ("25%"), may be there in addition.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^(0|[1-9][0-9]?|100)%$')",message="maxSurge must be a number that is not negative, or a percentage from 0% to 100%"
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`
}

// InPlaceUpgrade says how many nodes may be under change at a time.
type InPlaceUpgrade struct {
	// maxUnavailable is how many nodes, or what part of them ("25%"), may be under change at a time.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self > 0 : self.matches('^([1-9][0-9]?|100)%$')",message="inPlace.maxUnavailable must be 1 or more, or a percentage from 1% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}
