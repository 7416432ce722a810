package cloud

import (
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/lab/balancer"
)

// Status is what there is in a cloud. Other processes find the emulator by it: awsemulator.Connect.
type Status struct {
	// Endpoint is the URL of the emulator, DNS the address of the resolver.
	Endpoint   string                  `json:"endpoint"`
	DNS        string                  `json:"dns"`
	Management *awsemulator.Management `json:"management"`
	// LoadBalancers are those that carry traffic: host name, address, and where it goes.
	LoadBalancers []balancer.Status `json:"loadBalancers"`
	// Trouble is what does not work at present.
	Trouble []string `json:"trouble,omitempty"`
}

// Status says what there is now.
func (c *Cloud) Status() Status {
	s := Status{Endpoint: c.AWS.URL, DNS: c.resolver.Address(), Management: c.Management, LoadBalancers: c.balancer.Snapshot()}
	for _, trouble := range []string{c.balancer.Trouble(), c.resolver.Trouble()} {
		if trouble != "" {
			s.Trouble = append(s.Trouble, trouble)
		}
	}
	return s
}
