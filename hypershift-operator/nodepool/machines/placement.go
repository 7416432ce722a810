package machines

import (
	"cmp"

	"k8s.io/utils/ptr"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

const tenancyHost = "host"

// Market returns the market type of the instances. A reservation by ID is a capacity block unless the user sets OnDemand;
// the API has always been so.
func Market(p *hyperv1.PlacementOptions) hyperv1.MarketType {
	if p == nil {
		return hyperv1.MarketTypeOnDemand
	}
	marketType := p.MarketType
	if reservation := p.CapacityReservation; reservation != nil {
		marketType = cmp.Or(marketType, reservation.MarketType) //nolint:staticcheck // deprecated, and in use where somebody still sets it
		if marketType == "" && reservation.ID != nil && p.Tenancy != tenancyHost {
			return hyperv1.MarketTypeCapacityBlocks
		}
	}
	return cmp.Or(marketType, hyperv1.MarketTypeOnDemand)
}

// applyPlacement sets the placement of a machine.
func applyPlacement(spec *infrav1.AWSMachineSpec, p *hyperv1.PlacementOptions) {
	if p == nil {
		return
	}
	spec.Tenancy = p.Tenancy
	switch Market(p) {
	case hyperv1.MarketTypeSpot:
		spec.MarketType = infrav1.MarketTypeSpot
		spec.SpotMarketOptions = &infrav1.SpotMarketOptions{}
		if p.Spot != nil && p.Spot.MaxPrice != "" {
			spec.SpotMarketOptions.MaxPrice = ptr.To(p.Spot.MaxPrice)
		}
	case hyperv1.MarketTypeCapacityBlocks:
		spec.MarketType = infrav1.MarketTypeCapacityBlock
	case hyperv1.MarketTypeOnDemand:
		spec.MarketType = infrav1.MarketTypeOnDemand
	}
	if reservation := p.CapacityReservation; reservation != nil {
		spec.CapacityReservationID = reservation.ID
		spec.CapacityReservationPreference = infrav1.CapacityReservationPreference(reservation.Preference)
	}
}
