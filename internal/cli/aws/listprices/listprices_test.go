package listprices

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestMonth(t *testing.T) {
	p, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, price := range p.Prices {
		if (price.Hour > 0) == (price.Month > 0) || !strings.HasPrefix(price.Source, "https://aws.amazon.com/") {
			t.Errorf("%+v", price)
		}
	}
	dollars, unpriced := p.Month(map[string]int{"NAT gateway": 2, "Elastic IP address": 2, "Private hosted zone": 1, "VPC": 1, "Instance": 3, "Volume": 1})
	if want := 2*0.045*730 + 2*0.005*730 + 0.5; math.Abs(dollars-want) > 1e-6 || !slices.Equal(unpriced, []string{"3 instances", "1 volumes"}) {
		t.Errorf("%f dollars, want %f; without %v", dollars, want, unpriced)
	}
}
