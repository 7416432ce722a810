package v1beta1

// PlacementOptions configures the hardware and the price of instances.
//
// +kubebuilder:validation:XValidation:rule="!has(self.capacityReservation) || !has(self.tenancy) || self.tenancy != 'host'",message="an instance on a dedicated host cannot use a capacity reservation: remove capacityReservation or change tenancy"
// +kubebuilder:validation:XValidation:rule="!has(self.marketType) || self.marketType != 'Spot' || !has(self.capacityReservation)",message="a spot instance cannot use a capacity reservation: remove capacityReservation or change marketType"
// +kubebuilder:validation:XValidation:rule="!has(self.marketType) || self.marketType != 'Spot' || !has(self.tenancy) || self.tenancy == 'default'",message="a spot instance runs on shared hardware: set tenancy to default or change marketType"
// +kubebuilder:validation:XValidation:rule="!has(self.marketType) || self.marketType != 'CapacityBlocks' || (has(self.capacityReservation) && has(self.capacityReservation.id))",message="marketType CapacityBlocks needs the block that was bought: set capacityReservation.id"
// +kubebuilder:validation:XValidation:rule="!has(self.spot) || (has(self.marketType) && self.marketType == 'Spot')",message="the block spot belongs to marketType Spot: remove it, or set marketType to Spot"
// +kubebuilder:validation:XValidation:rule="!has(self.marketType) || size(self.marketType) == 0 || !has(self.capacityReservation) || !has(self.capacityReservation.marketType) || self.capacityReservation.marketType == self.marketType",message="placement.marketType and the deprecated capacityReservation.marketType contradict each other: remove the latter"
type PlacementOptions struct {
	// tenancy is default (shared hardware), dedicated (hardware of this account only) or host (a dedicated host).
	// +optional
	// +kubebuilder:validation:Enum=default;dedicated;host
	Tenancy string `json:"tenancy,omitempty"`

	// marketType is the purchasing option of the instances. The default is OnDemand, or CapacityBlocks if
	// capacityReservation has an id. For an on-demand reservation set OnDemand.
	// +optional
	MarketType MarketType `json:"marketType,omitempty"`

	// spot limits the price of spot instances.
	// +optional
	Spot *SpotOptions `json:"spot,omitempty"`

	// capacityReservation selects the reserved capacity that the instances use.
	// +optional
	CapacityReservation *CapacityReservationOptions `json:"capacityReservation,omitempty"`
}

// MarketType is the purchasing option of instances. The empty value is for compatibility with old manifests, and has
// the same meaning as no value.
//
// +kubebuilder:validation:Enum="";OnDemand;Spot;CapacityBlocks
type MarketType string

// Purchasing options of instances.
const (
	MarketTypeOnDemand       MarketType = "OnDemand"
	MarketTypeSpot           MarketType = "Spot"
	MarketTypeCapacityBlocks MarketType = "CapacityBlocks"
)

// SpotOptions limits the price of spot instances.
type SpotOptions struct {
	// maxPrice is the maximum price per instance and hour, in US dollars. The default is the on-demand price.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]+([.][0-9]+)?$') && !self.matches('^[0.]+$')",message="maxPrice must be a price above zero in US dollars, such as 0.25"
	MaxPrice string `json:"maxPrice,omitempty"`
}

// CapacityReservationOptions selects the reserved capacity that instances use.
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

	// preference defines the behaviour without an id: use a matching open reservation (Open), use none (None), or run
	// in reserved capacity only (CapacityReservationsOnly).
	// +optional
	Preference CapacityReservationPreference `json:"preference,omitempty"`

	// marketType is the purchasing option of the instances.
	//
	// Deprecated: use marketType of placement.
	// +optional
	// +kubebuilder:validation:Enum=OnDemand;CapacityBlocks
	MarketType MarketType `json:"marketType,omitempty"`
}

// CapacityReservationPreference defines the behaviour without the id of a reservation.
//
// +kubebuilder:validation:Enum=None;Open;CapacityReservationsOnly
type CapacityReservationPreference string

// Behaviour without the id of a reservation.
const (
	CapacityReservationPreferenceNone CapacityReservationPreference = "None"
	CapacityReservationPreferenceOpen CapacityReservationPreference = "Open"
	CapacityReservationPreferenceOnly CapacityReservationPreference = "CapacityReservationsOnly"
)
