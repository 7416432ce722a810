package teardown

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// UpdateFacts updates the facts in the status that must survive a reconcile.
// Conditions are computed from them, and never the other way round. It returns since
// when AWS rejects the identity of the cluster, zero if it does not. hcp may be nil.
func UpdateFacts(hc *hyperv1.HostedCluster, hcp *hyperv1.HostedControlPlane, now time.Time) (identityRejected time.Time) {
	dropTakenOver(&hc.Status, hcp)
	return identityRejectedSince(hc, hcp, now)
}

// The AWS services of orphaned resources.
const (
	serviceEC2     = "EC2"
	serviceRoute53 = "Route53"
	serviceS3      = "S3"
	// serviceAny is for resources of which only a description is known.
	serviceAny = "AWS"
)

const leftBehindPrefix = "left behind: "

// LeftBehindMessage lists the orphaned resources for a condition.
func LeftBehindMessage(st *hyperv1.HostedClusterStatus) string {
	return leftBehindPrefix + describeAll(st.LeftBehind)
}

func describeAll(list []hyperv1.LeftBehindResource) string {
	var texts []string
	for _, r := range list {
		texts = append(texts, describeResource(r))
	}
	return strings.Join(texts, ", ")
}

func describeResource(r hyperv1.LeftBehindResource) string {
	return strings.TrimSpace(r.Type + " " + r.ID)
}

// maxLeftBehind is the limit of the list.
const maxLeftBehind = 1000

// recordLeftBehind adds resources to the status, each once.
func recordLeftBehind(st *hyperv1.HostedClusterStatus, resources []hyperv1.LeftBehindResource) {
	for _, r := range resources {
		if !isRecorded(st, []hyperv1.LeftBehindResource{r}) {
			st.LeftBehind = append(st.LeftBehind, r)
		}
	}
}

// isRecorded reports whether the list has all of the resources, or is full.
func isRecorded(st *hyperv1.HostedClusterStatus, resources []hyperv1.LeftBehindResource) bool {
	return len(st.LeftBehind) >= maxLeftBehind || !slices.ContainsFunc(resources, func(r hyperv1.LeftBehindResource) bool {
		return !slices.ContainsFunc(st.LeftBehind, func(recorded hyperv1.LeftBehindResource) bool {
			return describeResource(recorded) == describeResource(r)
		})
	})
}

// dropTakenOver removes the security group of the workers from the list when the
// next control plane uses it.
func dropTakenOver(st *hyperv1.HostedClusterStatus, hcp *hyperv1.HostedControlPlane) {
	if hcp == nil || !hcp.DeletionTimestamp.IsZero() {
		return
	}
	group := workerSecurityGroup(hcp)
	if group == nil {
		return
	}
	dropped := len(st.LeftBehind)
	st.LeftBehind = slices.DeleteFunc(st.LeftBehind, func(r hyperv1.LeftBehindResource) bool { return describeResource(r) == describeResource(*group) })
	if dropped > len(st.LeftBehind) && len(st.LeftBehind) == 0 {
		st.LeftBehind = nil
		meta.RemoveStatusCondition(&st.Conditions, hyperv1.CloudResourcesDestroyed) // it contains the old list
	}
}

// endpointResources returns the recorded resources in the customer's account.
func endpointResources(es *hyperv1.AWSEndpointService) []hyperv1.LeftBehindResource {
	var list []hyperv1.LeftBehindResource
	add := func(service, kind, id string) {
		if id != "" {
			list = append(list, hyperv1.LeftBehindResource{Service: service, Type: kind, ID: id})
		}
	}
	for name, id := range es.Status.EachResource {
		add(serviceEC2, name, id)
	}
	if records := strings.Join(es.Status.DNSNames, ", "); records != "" {
		add(serviceRoute53, "records", strings.TrimSuffix(records+" of hosted zone "+es.Status.DNSZoneID, " of hosted zone "))
	}
	if len(list) == 0 {
		add(serviceAny, "", "nothing that "+es.Name+" had recorded")
	}
	return list
}

// workerSecurityGroup returns the security group of the workers, nil if none was
// ever created.
func workerSecurityGroup(hcp *hyperv1.HostedControlPlane) *hyperv1.LeftBehindResource {
	if p := hcp.Status.Platform; p != nil && p.AWS != nil && p.AWS.DefaultWorkerSecurityGroupID != "" {
		return &hyperv1.LeftBehindResource{Service: serviceEC2, Type: "security group", ID: p.AWS.DefaultWorkerSecurityGroupID}
	}
	if record := hcp.Status.WorkerSecurityGroup; record != nil && record.Creating {
		return &hyperv1.LeftBehindResource{Service: serviceEC2, ID: "a security group of the workers, if it was made, in " + record.VPC}
	}
	return nil
}

// ingressRecords returns the DNS records of applications, which may exist in all recorded zones.
func ingressRecords(hcp *hyperv1.HostedControlPlane) (list []hyperv1.LeftBehindResource) {
	record := hcp.Status.IngressRecords
	if record == nil {
		return nil
	}
	for _, zone := range record.ZoneIDs {
		list = append(list, hyperv1.LeftBehindResource{Service: serviceRoute53, Type: "records", ID: strings.Join(record.Names, ", ") + " of hosted zone " + zone})
	}
	return list
}

// imageRegistryBucket returns the bucket of the image registry, which may exist once its creation has begun. Before, a bucket of that name is not
// the cluster's.
func imageRegistryBucket(hcp *hyperv1.HostedControlPlane) (list []hyperv1.LeftBehindResource) {
	if record := hcp.Status.ImageRegistry; record != nil && record.Ready != nil {
		list = append(list, hyperv1.LeftBehindResource{Service: serviceS3, Type: "bucket", ID: record.Bucket})
	}
	return list
}
