package infra

import (
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// Output is the file of --output-file. Other hypershift command lines use the same names of fields.
type Output struct {
	Region              string       `json:"region"`
	Zone                string       `json:"zone"`
	InfraID             string       `json:"infraID"`
	MachineCIDR         string       `json:"machineCIDR"`
	VPCID               string       `json:"vpcID"`
	Zones               []OutputZone `json:"zones"`
	Name                string       `json:"Name"`
	BaseDomain          string       `json:"baseDomain"`
	BaseDomainPrefix    string       `json:"baseDomainPrefix"`
	PublicZoneID        string       `json:"publicZoneID"`
	PrivateZoneID       string       `json:"privateZoneID"`
	LocalZoneID         string       `json:"localZoneID"`
	ProxyAddr           string       `json:"proxyAddr"`
	SecureProxyAddr     string       `json:"secureProxyAddr,omitempty"`
	PublicOnly          bool         `json:"publicOnly"`
	SecurityGroupID     string       `json:"securityGroupID,omitempty"`
	ProxyCA             string       `json:"proxyCA,omitempty"`
	VPCCreatorAccountID string       `json:"vpcCreatorAccountID,omitempty"`
	ClusterAccountID    string       `json:"clusterAccountID,omitempty"`
}

// OutputZone is a zone with the subnet of its nodes.
type OutputZone struct {
	Name     string `json:"name"`
	SubnetID string `json:"subnetID"`
}

// NewOutput returns the result of a spec that was applied, without the certificate authority of a secure proxy: see Cloud.ProxyCA.
func NewOutput(s Spec, ids rg.IDs) Output {
	o := Output{
		Region: s.Region, InfraID: s.InfraID, MachineCIDR: s.VPCCIDR.String(), VPCID: ids(VPC), Name: s.Name,
		BaseDomain: s.BaseDomain, BaseDomainPrefix: s.BaseDomainPrefix, PublicOnly: s.PublicOnly,
		LocalZoneID: ids(LocalZone), SecurityGroupID: s.workerGroupID(ids),
		VPCCreatorAccountID: s.VPCOwner, ClusterAccountID: s.ClusterAccount,
	}
	if s.BaseDomain != "" {
		o.PublicZoneID, o.PrivateZoneID = ids(PublicZone), ids(PrivateZone)
	}
	o.ProxyAddr, o.SecureProxyAddr = s.proxyAddresses()
	for _, zone := range s.Zones {
		subnet := privateSubnet(zone)
		if s.PublicOnly {
			subnet = publicSubnet(zone)
		}
		o.Zones = append(o.Zones, OutputZone{Name: zone, SubnetID: ids(subnet)})
	}
	return o
}
