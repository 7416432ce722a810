// Package nlb reads what the host name of a network load balancer tells.
package nlb

import (
	"fmt"
	"regexp"
)

// hostname is <name>-<id>.elb.<region>.amazonaws.com. Classic and application
// load balancers have region and "elb" the other way round.
var hostname = regexp.MustCompile(`^([A-Za-z0-9](?:[A-Za-z0-9-]{0,30}[A-Za-z0-9])?)-[0-9a-f]+\.elb\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?$`)

// Name returns the name of the load balancer with that host name. A Service
// status has the host name only; every call about the load balancer wants the name.
func Name(host string) (string, error) {
	m := hostname.FindStringSubmatch(host)
	if m == nil {
		return "", fmt.Errorf("%q is not the host name of a network load balancer, such as name-0123456789abcdef.elb.us-east-1.amazonaws.com", host)
	}
	return m[1], nil
}
