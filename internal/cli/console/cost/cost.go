// Package cost estimates what a hosted cluster costs in both AWS accounts, at list prices, from its objects in the management cluster.
package cost

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/listprices"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
)

// Line is the cost of the resources of one kind in one account.
type Line struct {
	// Account is "management" or "customer".
	Account string
	Kind    string
	Count   int
	// Each is a note about the size, such as an instance type.
	Each string
	// DollarsPerDay is for all resources of the line. Priced is false if the price is not known.
	DollarsPerDay float64
	Priced        bool
}

// Estimate is the cost of a cluster.
type Estimate struct {
	Lines []Line
	// DollarsPerDay is the sum of the lines with a price. Complete is false if a line has none.
	DollarsPerDay float64
	Complete      bool
}

const (
	management = "management"
	customer   = "customer"
	// hoursOfAMonth is how AWS computes monthly prices.
	hoursOfAMonth = 730
)

// Estimator knows the list prices.
type Estimator struct {
	prices listprices.Prices
}

// New reads the list prices.
func New() (*Estimator, error) {
	prices, err := listprices.Load()
	if err != nil {
		return nil, err
	}
	return &Estimator{prices}, nil
}

// Basis is the region and the date of the prices, and Without what is not in an estimate.
func (e *Estimator) Basis() string {
	return fmt.Sprintf("list prices of %s on %s", e.prices.Region, e.prices.Date)
}
func (e *Estimator) Without() []string { return e.prices.Without }

// day returns the price of one resource, in dollars a day.
func (e *Estimator) day(kind, key string) (dollars float64, exists bool) {
	for _, p := range e.prices.Prices {
		if p.Kind == kind && p.Key == key {
			return 24 * (p.Hour + p.Month/hoursOfAMonth), true
		}
	}
	return 0, false
}

// Of estimates the cost of a cluster. The share of the management cluster's nodes is not in it.
func (e *Estimator) Of(o *clustertree.Objects) Estimate {
	estimate := Estimate{Complete: true}
	add := func(account, kind, key string, count int) {
		if count == 0 {
			return
		}
		line := Line{Account: account, Kind: kind, Count: count, Each: key}
		each, priced := e.day(kind, key)
		line.DollarsPerDay, line.Priced = float64(count)*each, priced
		estimate.Complete = estimate.Complete && priced
		estimate.DollarsPerDay += line.DollarsPerDay
		estimate.Lines = append(estimate.Lines, line)
	}
	balancers := 0
	for i := range o.Services {
		if s := &o.Services[i]; s.Spec.Type == corev1.ServiceTypeLoadBalancer && len(s.Status.LoadBalancer.Ingress) > 0 {
			balancers++
		}
	}
	add(management, "Load balancer", "", balancers)
	add(management, "GiB of etcd volumes", "", volumeGiB(o.HostedCluster))

	interfaces, zones := 0, map[string]bool{}
	for i := range o.EndpointServices {
		es := &o.EndpointServices[i]
		if es.Status.EndpointID != "" {
			// One interface for each zone that both sides have. A subnet for each zone is the usual case.
			interfaces += max(1, min(len(es.Spec.SubnetIDs), len(es.Status.AvailabilityZoneIDs)))
		}
		if es.Status.DNSZoneID != "" {
			zones[es.Status.DNSZoneID] = true
		}
	}
	add(customer, "VPC endpoint", "", interfaces)
	add(customer, "Private hosted zone", "", len(zones))
	types := map[string]int{}
	for i := range o.AWSMachines {
		types[o.AWSMachines[i].Spec.InstanceType]++
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		add(customer, "Instance", name, types[name])
	}
	return estimate
}

// defaultVolumeGiB is the size of an etcd volume without a size in the spec.
const defaultVolumeGiB = 8

// volumeGiB is the size of all etcd volumes of a cluster.
func volumeGiB(hc *hyperv1.HostedCluster) int {
	etcd := hc.Spec.Etcd
	if etcd.ManagementType == hyperv1.Unmanaged {
		return 0
	}
	members := 1
	if hc.Spec.ControllerAvailabilityPolicy != hyperv1.SingleReplica {
		members = 3
	}
	each := int64(defaultVolumeGiB)
	if etcd.Managed != nil && etcd.Managed.Storage.PersistentVolume != nil && etcd.Managed.Storage.PersistentVolume.Size != nil {
		each = (etcd.Managed.Storage.PersistentVolume.Size.Value() + 1<<30 - 1) >> 30
	}
	return members * int(each)
}
