package v1beta1

// PlacementOptions says on what hardware and at what price instances run.
//
// +kubebuilder:validation:XValidation:rule="!has(self.capacityReservation) || !has(self.tenancy) || self.tenancy != 'host'",message="an instance on a dedicated host cannot use a capacity reservation: remove capacityReservation or change tenancy"
// +kubebuilder:validation:XValidation:rule="!has(self.marketType) || self.marketType != 'Spot' || !has(self.capacityReservation)",message="a spot instance cannot use a capacity reservation: remove capacityReservation or change marketType"
// +kubebuilder:validation:XValidation:rule="!has(self.marketType) || self.marketType != 'Spot' || !has(self.tenancy) || self.tenancy == 'default'",message="a spot instance runs on shared hardware: set tenancy to default or change marketType"
// +kubebuilder:validation:XValidation:rule="!has(self.marketType) || self.marketType != 'CapacityBlocks' || (has(self.capacityReservation) && has(self.capacityReservation.id))",message="marketType CapacityBlocks needs the block that was bought: set capacityReservation.id"
// +kubebuilder:validation:XValidation:rule="!has(self.spot) || (has(self.marketType) && self.marketType == 'Spot')",message="the block spot belongs to marketType Spot: remove it, or set marketType to Spot"
// +kubebuilder:validation:XValidation:rule="!has(self.marketType) || size(self.marketType) == 0 || !has(self.capacityReservation) || !has(self.capacityReservation.marketType) || self.capacityReservation.marketType == self.marketType",message="placement.marketType and the deprecated capacityReservation.marketType contradict each other: remove the latter"
type PlacementOptions struct {
	// tenancy is default (shared hardware), dedicated (hardware of this account alone) or host (a dedicated host).
	// +optional
	// +kubebuilder:validation:Enum=default;dedicated;host
	Tenancy string `json:"tenancy,omitempty"`

	// marketType is how the instances are paid for. Unset, they are on demand, or a capacity block if
	// capacityReservation has an id: an on-demand reservation must therefore say OnDemand.
	// +optional
	MarketType MarketType `json:"marketType,omitempty"`

	// spot bounds the price of spot instances.
	// +optional
	Spot *SpotOptions `json:"spot,omitempty"`

	// capacityReservation says which reserved capacity the instances use.
	// +optional
	CapacityReservation *CapacityReservationOptions `json:"capacityReservation,omitempty"`
}

// MarketType is how instances are paid for. The empty word is that of old manifests, and the same as leaving it out.
//
// +kubebuilder:validation:Enum="";OnDemand;Spot;CapacityBlocks
type MarketType string

// How instances are paid for.
const (
	MarketTypeOnDemand       MarketType = "OnDemand"
	MarketTypeSpot           MarketType = "Spot"
	MarketTypeCapacityBlocks MarketType = "CapacityBlocks"
)

// SpotOptions bounds the price of spot instances.
type SpotOptions struct {
	// maxPrice is the most to pay for an instance and hour, in US dollars. Unset, the on-demand price.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]+([.][0-9]+)?$') && !self.matches('^[0.]+$')",message="maxPrice must be a price above zero in US dollars, such as 0.25"
	MaxPrice string `json:"maxPrice,omitempty"`
}

// CapacityReservationOptions says which reserved capacity instances use.
//
// +kubebuilder:validation:XValidation:rule="has(self.id) || has(self.preference)",message="capacityReservation needs an id or a preference: set one, or remove the block"
// +kubebuilder:validation:XValidation:rule="!has(self.id) || !has(self.preference) || self.preference == 'CapacityReservationsOnly'",message="a reservation with an id is used and no other: remove preference, or set it to CapacityReservationsOnly"
// +kubebuilder:validation:XValidation:rule="!has(self.marketType) || self.marketType != 'CapacityBlocks' || has(self.id)",message="marketType CapacityBlocks needs the block that was bought: set capacityReservation.id"
type CapacityReservationOptions struct {
	// id is the reservation to use.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^cr-[0-9a-f]{17}$')",message="capacityReservation.id must look like cr-0123456789abcdef0"
	ID *string `json:"id,omitempty"`

	// preference says what to do without an id: use an open reservation that fits (Open), use none (None), or run in
	// reserved capacity only (CapacityReservationsOnly).
	// +optional
	Preference CapacityReservationPreference `json:"preference,omitempty"`

	// marketType is how the instances are paid for.
	//
	// Deprecated: use marketType of placement.
	// +optional
	// +kubebuilder:validation:Enum=OnDemand;CapacityBlocks
	MarketType MarketType `json:"marketType,omitempty"`
}

// CapacityReservationPreference says what to do without a reservation's id.
//
// +kubebuilder:validation:Enum=None;Open;CapacityReservationsOnly
type CapacityReservationPreference string

// What to do without a reservation's id.
const (
	CapacityReservationPreferenceNone CapacityReservationPreference = "None"
	CapacityReservationPreferenceOpen CapacityReservationPreference = "Open"
	CapacityReservationPreferenceOnly CapacityReservationPreference = "CapacityReservationsOnly"
)
