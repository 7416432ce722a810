package cloud

import (
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/lab/balancer"
)

// Status is the state of a cloud. Other processes use it to connect to the emulator: awsemulator.Connect.
type Status struct {
	// Endpoint is the URL of the emulator, DNS the address of the resolver.
	Endpoint   string                  `json:"endpoint"`
	DNS        string                  `json:"dns"`
	Management *awsemulator.Management `json:"management"`
	// LoadBalancers are those that forward traffic: host name, address, and targets.
	LoadBalancers []balancer.Status `json:"loadBalancers"`
	// Trouble are the current errors.
	Trouble []string `json:"trouble,omitempty"`
}

// Status returns the current state.
func (c *Cloud) Status() Status {
	s := Status{Endpoint: c.AWS.URL, DNS: c.resolver.Address(), Management: c.Management, LoadBalancers: c.balancers.snapshot()}
	troubles := []string{c.resolver.Trouble()}
	if err := c.balancers.trouble(); err != nil {
		troubles = append(troubles, err.Error())
	}
	if c.network != nil {
		troubles = append(troubles, c.network.Trouble())
	}
	for _, trouble := range troubles {
		if trouble != "" {
			s.Trouble = append(s.Trouble, trouble)
		}
	}
	return s
}
