package infra

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/zone"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Spec is the user's request.
type Spec struct {
	InfraID, Name string
	Region        string
	// Zones are names; those that a user gives may be ids. ResolveZones returns the names.
	Zones []string
	// BaseDomain is the domain of a public hosted zone. Without it, the cluster has only the private zone below hypershift.local.
	BaseDomain string
	// BaseDomainPrefix defaults to Name. NoPrefix means none.
	BaseDomainPrefix string
	VPCCIDR          netip.Prefix
	// SingleNATGateway: all private subnets share the NAT gateway of the first zone.
	SingleNATGateway bool
	// PublicOnly: no private subnets and no NAT gateways. Nodes have public addresses.
	PublicOnly bool
	// Proxy: the private subnets have no NAT gateway, and nodes use a proxy. SecureProxy: the proxy also accepts connections with TLS.
	Proxy, SecureProxy bool
	// WorkerGroup adds a security group for nodes.
	WorkerGroup bool
	// ClusterAccount is the account of the cluster, and VPCOwner the account of its VPC, if the VPC is shared. Both are in one partition.
	ClusterAccount, VPCOwner, Partition string
	Tags                                awsx.Tags
}

// NoPrefix as BaseDomainPrefix puts the names of the cluster directly into the base domain.
const NoPrefix = "none"

// maxZoneTags is how many tags a hosted zone has at most, with ours. Other resources of the network may have 50.
// https://docs.aws.amazon.com/Route53/latest/APIReference/API_ChangeTagsForResource.html
const maxZoneTags = 10

// maxZones is how many pairs of /20 subnets fit into a /16 in this layout.
const maxZones = 8

// Validate returns the problems, before any call of AWS. Paths are names of flags.
func (s Spec) Validate() field.ErrorList {
	var errs field.ErrorList
	flag := func(name string) *field.Path { return field.NewPath("--" + name) }
	required := func(name, value string) {
		if value == "" {
			errs = append(errs, field.Required(flag(name), ""))
		}
	}
	required("infra-id", s.InfraID)
	required("name", s.Name)
	required("region", s.Region)
	for _, problem := range validation.IsDNS1123Subdomain(s.BaseDomain) {
		if s.BaseDomain != "" {
			errs = append(errs, field.Invalid(flag("base-domain"), s.BaseDomain, problem))
		}
	}
	if s.BaseDomain == "" && s.BaseDomainPrefix != "" {
		errs = append(errs, field.Forbidden(flag("base-domain-prefix"), "it is a prefix of --base-domain, which is missing"))
	}
	for _, problem := range validation.IsDNS1123Label(s.InfraID) {
		if s.InfraID != "" {
			errs = append(errs, field.Invalid(flag("infra-id"), s.InfraID, problem))
		}
	}
	for name, value := range map[string]string{"name": s.Name, "base-domain-prefix": s.BaseDomainPrefix} {
		check := validation.IsDNS1123Label // the name is a label of the private zone
		if name == "base-domain-prefix" {
			check = validation.IsDNS1123Subdomain
		}
		if value == "" {
			continue
		}
		for _, problem := range check(value) {
			errs = append(errs, field.Invalid(flag(name), value, problem))
		}
	}
	// Names of IAM roles have at most 64 characters, and the longest suffix of ours has 32.
	if len(s.InfraID) > 32 {
		errs = append(errs, field.TooLong(flag("infra-id"), s.InfraID, 32))
	}
	if !s.VPCCIDR.Addr().Is4() || s.VPCCIDR.Bits() != 16 || s.VPCCIDR.Masked() != s.VPCCIDR {
		errs = append(errs, field.Invalid(flag("vpc-cidr"), s.VPCCIDR.String(), "must be an IPv4 network with a mask of 16 bits, such as 10.0.0.0/16"))
	}
	if len(s.Zones) > maxZones {
		errs = append(errs, field.TooMany(flag("zones"), len(s.Zones), maxZones))
	}
	seen := map[string]bool{}
	for _, given := range s.Zones {
		if !strings.HasPrefix(given, s.Region) && !zone.IsID(given) {
			errs = append(errs, field.Invalid(flag("zones"), given, "is neither a zone of the region "+s.Region+" nor the id of a zone, such as use1-az1"))
		}
		if seen[given] {
			errs = append(errs, field.Duplicate(flag("zones"), given))
		}
		seen[given] = true
	}
	if s.SingleNATGateway && s.PublicOnly {
		errs = append(errs, field.Forbidden(flag("single-nat-gateway"), "public-only infrastructure has no NAT gateway"))
	}
	if s.HasProxy() {
		name := "enable-proxy"
		if s.SecureProxy {
			name = "enable-secure-proxy"
		}
		switch {
		case s.PublicOnly:
			errs = append(errs, field.Forbidden(flag(name), "public-only infrastructure has no private subnets"))
		case s.SingleNATGateway:
			errs = append(errs, field.Forbidden(flag(name), "with a proxy there is no NAT gateway: remove --single-nat-gateway"))
		}
	}
	if s.Proxy && s.SecureProxy {
		errs = append(errs, field.Forbidden(flag("enable-proxy"), "--enable-secure-proxy includes it"))
	}
	if n := len(s.Owner().All("", nil)); n > maxZoneTags {
		errs = append(errs, field.TooMany(flag("additional-tags"), len(s.Tags), len(s.Tags)+maxZoneTags-n))
	}
	return append(errs, s.Tags.Validate(flag("additional-tags"), names.IsClusterTag)...)
}

// PrivateZones are the names of the private zones.
func (s Spec) PrivateZones() []string {
	var zones []string
	if s.BaseDomain != "" && s.Name != "" {
		zones = append(zones, s.privateZone())
	}
	if s.Name != "" {
		zones = append(zones, localZone(s.Name))
	}
	return zones
}

// Owner is the owner of the resources.
func (s Spec) Owner() awsgraph.Owner {
	return awsgraph.Owner{InfraID: s.InfraID, Name: s.Name, Tags: s.Tags}
}

// privateZone is the name of the zone with the names of the cluster that only its VPC resolves.
func (s Spec) privateZone() string {
	if s.BaseDomainPrefix == NoPrefix {
		return s.BaseDomain
	}
	return cmp.Or(s.BaseDomainPrefix, s.Name) + "." + s.BaseDomain
}

func (s Spec) dhcpDomain() string {
	if s.Region == "us-east-1" {
		return "ec2.internal"
	}
	return s.Region + ".compute.internal"
}

// subnet returns the i-th /20 of the public or the private half of the VPC.
func (s Spec) subnet(i int, private bool) string {
	address := s.VPCCIDR.Addr().As4()
	n := binary.BigEndian.Uint32(address[:]) + uint32(i)<<12 //nolint:gosec // the number of a zone
	if private {
		n += 128 << 8
	}
	binary.BigEndian.PutUint32(address[:], n)
	return netip.PrefixFrom(netip.AddrFrom4(address), 20).String()
}
