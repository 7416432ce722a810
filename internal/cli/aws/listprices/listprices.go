// Package listprices contains the list prices of AWS for the resources of hosted clusters, for estimates.
package listprices

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

//go:embed prices.json
var text []byte

// Prices are the list prices of a region.
type Prices struct {
	Region string  `json:"region"`
	Date   string  `json:"date"`
	Prices []Price `json:"prices"`
	// Without names the costs that are not part of an estimate.
	Without []string `json:"without"`
}

// Price is the price of one resource.
type Price struct {
	// Kind is a kind of `leftovers aws`. Key is the property that the price depends on, such as an instance type.
	Kind string `json:"kind"`
	Key  string `json:"key,omitempty"`
	// Hour is the price of an hour in dollars. Whole: each begun hour is charged.
	Hour  float64 `json:"hour,omitempty"`
	Whole bool    `json:"whole,omitempty"`
	// Month is the price of a month in dollars, for resources that are not charged by the hour.
	Month  float64 `json:"month,omitempty"`
	Source string  `json:"source"`
}

// Load returns the prices.
func Load() (Prices, error) {
	var p Prices
	if err := json.Unmarshal(text, &p); err != nil {
		return p, fmt.Errorf("reading the list prices: %w", err)
	}
	return p, nil
}

// hoursOfAMonth is how AWS computes monthly prices.
const hoursOfAMonth = 730

// bySize are kinds with a price that depends on a size, which a list of resources does not contain.
var bySize = []string{"Instance", "Volume", "Snapshot"}

// Month returns the monthly cost of resources, in dollars, by the number of each kind. unpriced lists the kinds that are not in the
// sum. Kinds without a price are free.
func (p Prices) Month(counts map[string]int) (dollars float64, unpriced []string) {
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		if slices.Contains(bySize, kind) {
			unpriced = append(unpriced, fmt.Sprintf("%d %ss", counts[kind], strings.ToLower(kind)))
			continue
		}
		for _, price := range p.Prices {
			if price.Kind == kind {
				dollars += float64(counts[kind]) * (price.Hour*hoursOfAMonth + price.Month)
			}
		}
	}
	return dollars, unpriced
}

// Estimate is the monthly cost of resources.
type Estimate struct {
	DollarsPerMonth float64 `json:"dollarsPerMonth"`
	// Prices are the region and the date of the prices.
	Prices string `json:"prices"`
	// Without are the resources that are charged by their size.
	Without []string `json:"without,omitempty"`
}

// EstimateOf returns the monthly cost of resources, by the number of each kind, or nil if they are free.
func EstimateOf(counts map[string]int) (*Estimate, error) {
	prices, err := Load()
	if err != nil {
		return nil, err
	}
	e := &Estimate{Prices: fmt.Sprintf("list prices of %s on %s", prices.Region, prices.Date)}
	if e.DollarsPerMonth, e.Without = prices.Month(counts); e.DollarsPerMonth == 0 && len(e.Without) == 0 {
		return nil, nil
	}
	return e, nil
}

func (e *Estimate) String() string {
	text := fmt.Sprintf("about %.0f dollars a month (%s, without data transfer)", e.DollarsPerMonth, e.Prices)
	if len(e.Without) > 0 {
		text += ", and " + strings.Join(e.Without, ", ") + " by their size"
	}
	return text
}
