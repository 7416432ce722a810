// Package servedzones determines the availability zones in which the management cluster has load balancers. An endpoint of PrivateLink is
// possible in these zones only. Zones have ids, because each AWS account has other names for them.
package servedzones

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// NodeLabel is the label with the id of a node's zone, which the cloud controller manager of AWS and EKS set.
const NodeLabel = "topology.k8s.aws/zone-id"

// ConfigMap is where the hypershift-operator publishes the zones for users without permission to read nodes and endpoint services. IDsKey
// lists the ids, separated by commas.
var ConfigMap = client.ObjectKey{Namespace: "kube-public", Name: "hypershift-availability-zones"}

// IDsKey is the key in ConfigMap.
const IDsKey = "ids"

// Of returns the ids of the zones, sorted, and their source: the newest endpoint service with the zones that AWS reports, else the nodes.
func Of(services []hyperv1.AWSEndpointService, nodes []string) (ids []string, source string) {
	var newest *hyperv1.AWSEndpointService
	for i := range services {
		es := &services[i]
		if len(es.Status.AvailabilityZoneIDs) > 0 && (newest == nil || newest.CreationTimestamp.Before(&es.CreationTimestamp)) {
			newest = es
		}
	}
	if newest != nil {
		return set(newest.Status.AvailabilityZoneIDs), "endpoint service of AWSEndpointService " + client.ObjectKeyFromObject(newest).String()
	}
	return set(nodes), "label " + NodeLabel + " of the nodes"
}

// Published returns the ids in ConfigMap.
func Published(config *corev1.ConfigMap) []string {
	return set(strings.Split(config.Data[IDsKey], ","))
}

// set returns the values that are not empty, sorted and without duplicates.
func set(values []string) []string {
	sorted := slices.Sorted(slices.Values(slices.DeleteFunc(slices.Clone(values), func(value string) bool { return value == "" })))
	return slices.Compact(sorted)
}
