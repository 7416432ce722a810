// Package nlb parses the host names of network load balancers.
package nlb

import (
	"fmt"
	"regexp"
)

// hostname matches <name>-<id>.elb.<region>.amazonaws.com. In host names of classic and application load balancers, region
// and "elb" are in reverse order.
var hostname = regexp.MustCompile(`^([A-Za-z0-9](?:[A-Za-z0-9-]{0,30}[A-Za-z0-9])?)-[0-9a-f]+\.elb\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?$`)

// Name returns the name of the load balancer with that host name. The status of a Service contains only the host name,
// and AWS calls need the name.
func Name(host string) (string, error) {
	m := hostname.FindStringSubmatch(host)
	if m == nil {
		return "", fmt.Errorf("%q is not the host name of a network load balancer, such as name-0123456789abcdef.elb.us-east-1.amazonaws.com", host)
	}
	return m[1], nil
}
