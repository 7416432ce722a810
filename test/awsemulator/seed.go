package awsemulator

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/hosted-control-planes/hypershift/internal/names"
)

// The accounts of the two sides, where a test does not need accounts of its own.
const (
	ManagementAccount = "111111111111"
	CustomerAccount   = "222222222222"
)

// The images that every account finds, one of them older than the others, one with the programs of a node, and one with the root
// device of Ubuntu.
const (
	ImageAMD64            = "ami-0000000000000a064"
	ImageARM64            = "ami-0000000000000a4a6"
	ImageAMD64Older       = "ami-0000000000001a064"
	ImageAMD64WithKubelet = "ami-0000000000002a064"
	ImageAMD64Ubuntu      = "ami-0000000000003a064"
)

// Subnet is a subnet of a seeded VPC. Zone is the account's own name for the zone ZoneID.
type Subnet struct {
	ID, CIDR, Zone, ZoneID string
}

// Instance is an EC2 instance that stands for a node.
type Instance struct {
	ID, ProviderID, PrivateIP, PrivateDNSName, Zone string
}

// Management is the account of the management cluster.
type Management struct {
	Account, ClusterID, VPC string
	Private, Public         []Subnet
	SecurityGroup           string
	Instances               []Instance
	Bucket                  string // for OIDC documents; anybody may read its objects
}

// ManagementOptions describe a management account; the zero value is a
// cluster "management" in three zones.
type ManagementOptions struct {
	Account   string   // default: ManagementAccount
	ClusterID string   // default: management
	Bucket    string   // default: <ClusterID>-oidc
	CIDR      string   // default: 10.0.0.0/16
	ZoneIDs   []string // default: the first three of the region
	// Empty leaves instances to RunInstance.
	Empty bool
	// Internet: the private subnets reach the internet through a NAT gateway.
	Internet bool
	// ControlPlane is the address from which the API server connects to instances.
	ControlPlane netip.Addr
}

// SeedManagement makes a VPC with a private and a public subnet per zone, tagged as the
// cloud-controller-manager looks for them, an instance per zone, and a bucket.
func (e *Emulator) SeedManagement(ctx context.Context, o ManagementOptions) (*Management, error) {
	m := &Management{
		Account:   cmp.Or(o.Account, ManagementAccount),
		ClusterID: cmp.Or(o.ClusterID, "management"),
	}
	m.Bucket = cmp.Or(o.Bucket, m.ClusterID+"-oidc")
	s := e.seeder(m.Account, m.ClusterID)
	err := e.Given(ctx, m.Account, func() error {
		zones, err := s.zones(ctx, o.ZoneIDs, 3)
		if err != nil {
			return err
		}
		network, err := netip.ParsePrefix(cmp.Or(o.CIDR, "10.0.0.0/16"))
		if err != nil {
			return fmt.Errorf("parsing the network of the VPC: %w", err)
		}
		if m.VPC, err = s.vpc(ctx, network.String()); err != nil {
			return err
		}
		cidr := netip.PrefixFrom(network.Addr(), network.Bits()+4)
		for _, zone := range zones {
			var public, private Subnet
			public, cidr, err = s.subnet(ctx, m.VPC, zone, cidr, "kubernetes.io/role/elb")
			if err != nil {
				return err
			}
			private, cidr, err = s.subnet(ctx, m.VPC, zone, cidr, "kubernetes.io/role/internal-elb")
			if err != nil {
				return err
			}
			m.Public, m.Private = append(m.Public, public), append(m.Private, private)
		}
		if err := s.internet(ctx, m.VPC, m.Public); err != nil {
			return err
		}
		if o.Internet {
			if err := s.nat(ctx, m.VPC, m.Public[0], m.Private); err != nil {
				return err
			}
		}
		if m.SecurityGroup, err = s.securityGroup(ctx, m.VPC, o.ControlPlane); err != nil {
			return err
		}
		if err := s.publicBucket(ctx, m.Bucket); err != nil || o.Empty {
			return err
		}
		for _, subnet := range m.Private {
			instance, err := s.instance(ctx, m, InstanceOptions{Zone: subnet.Zone})
			if err != nil {
				return err
			}
			m.Instances = append(m.Instances, instance)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("seeding management account %s: %w", m.Account, err)
	}
	return m, nil
}

// ShareManagement returns the account of another management cluster in the same network, with the same bucket. Its subnets get the
// tag by which its cloud-controller-manager finds them, and its nodes a security group of their own.
func (e *Emulator) ShareManagement(ctx context.Context, m *Management, clusterID string, controlPlane netip.Addr) (*Management, error) {
	shared := *m
	shared.ClusterID, shared.Instances = clusterID, nil
	s := e.seeder(m.Account, clusterID)
	err := e.Given(ctx, m.Account, func() (err error) {
		in := &ec2.CreateTagsInput{Resources: m.subnets(), Tags: []ec2types.Tag{{Key: aws.String(names.ClusterTag(clusterID)), Value: aws.String("shared")}}}
		if _, err := s.ec2.CreateTags(ctx, in); err != nil {
			return err
		}
		shared.SecurityGroup, err = s.securityGroup(ctx, m.VPC, controlPlane)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("sharing management account %s with %s: %w", m.Account, clusterID, err)
	}
	return &shared, nil
}

// UnshareManagement removes what ShareManagement has created. The instances of the cluster must have been terminated.
func (e *Emulator) UnshareManagement(ctx context.Context, shared *Management) error {
	s := e.seeder(shared.Account, shared.ClusterID)
	in := &ec2.DeleteTagsInput{Resources: shared.subnets(), Tags: []ec2types.Tag{{Key: aws.String(names.ClusterTag(shared.ClusterID))}}}
	_, err := s.ec2.DeleteTags(ctx, in)
	if err == nil {
		// An instance keeps its security groups until it is terminated.
		err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			_, err := s.ec2.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: &shared.SecurityGroup})
			switch {
			case isCode(err, "DependencyViolation"):
				return false, nil
			case isCode(err, "InvalidGroup.NotFound"):
				return true, nil // an earlier call has deleted it
			}
			return err == nil, err
		})
	}
	if err != nil {
		return fmt.Errorf("removing %s from management account %s: %w", shared.ClusterID, shared.Account, err)
	}
	return nil
}

// subnets returns the ids of all subnets.
func (m *Management) subnets() []string {
	var ids []string
	for _, subnet := range slices.Concat(m.Public, m.Private) {
		ids = append(ids, subnet.ID)
	}
	return ids
}

// InstanceOptions describe an instance of a management account.
type InstanceOptions struct {
	Name    string // default: named after its zone
	Zone    string
	Type    string // default: m5.large
	Address string // default: AWS chooses
}

// RunInstance runs another instance in a management account.
func (e *Emulator) RunInstance(ctx context.Context, m *Management, o InstanceOptions) (Instance, error) {
	var made Instance
	err := e.Given(ctx, m.Account, func() (err error) {
		made, err = e.seeder(m.Account, m.ClusterID).instance(ctx, m, o)
		return err
	})
	return made, err
}

// RegionOf is the region that a zone is in: the name of the zone without its letter.
func RegionOf(zone string) string { return zone[:len(zone)-1] }

// Customer is the account in which the nodes of a hosted cluster live.
type Customer struct {
	Account, InfraID, VPC, CIDR string
	Subnets                     []Subnet
	LocalZone, LocalZoneID      string
	OIDCProvider                string // ARN
	Role                        string // ARN of the control-plane-operator's role
	NodePoolRole                string // ARN of the role with which machines are made
	CloudControllerRole         string // ARN of the role of the cloud-controller-manager
	KarpenterRole               string // ARN of the role with which nodes on demand are made
	IngressRole                 string // ARN of the role that writes the records of applications
	ImageRegistryRole           string // ARN of the role of the image registry's bucket
	InstanceProfile             string // name of the workers' profile
}

// CustomerOptions describe a customer's account. Name, InfraID and Issuer
// have no defaults.
type CustomerOptions struct {
	Account string // default: CustomerAccount
	Name    string // of the hosted control plane: the private zone is <Name>.hypershift.local
	InfraID string
	Issuer  string   // URL, as in spec.issuerURL
	CIDR    string   // default: 10.1.0.0/16
	ZoneIDs []string // a subnet in each; default: the first three of the region
	// Internet: the subnets reach the internet through a NAT gateway in its own subnet.
	Internet bool
}

// SeedCustomer makes a VPC with a subnet per zone, the cluster's private hosted zone,
// the OIDC provider, the roles that the control-plane-operator and the machine controllers
// assume, and the instance profile of the workers.
func (e *Emulator) SeedCustomer(ctx context.Context, o CustomerOptions) (*Customer, error) {
	c := &Customer{
		Account:   cmp.Or(o.Account, CustomerAccount),
		InfraID:   o.InfraID,
		CIDR:      cmp.Or(o.CIDR, "10.1.0.0/16"),
		LocalZone: names.LocalZone(o.Name),
	}
	s := e.seeder(c.Account, c.InfraID)
	err := e.Given(ctx, c.Account, func() error {
		zones, err := s.zones(ctx, o.ZoneIDs, 3)
		if err != nil {
			return err
		}
		if c.VPC, err = s.vpc(ctx, c.CIDR); err != nil {
			return err
		}
		network, err := netip.ParsePrefix(c.CIDR)
		if err != nil {
			return fmt.Errorf("parsing the network of the VPC: %w", err)
		}
		cidr := netip.PrefixFrom(network.Addr(), network.Bits()+4)
		for _, zone := range zones {
			var subnet Subnet
			if subnet, cidr, err = s.subnet(ctx, c.VPC, zone, cidr, ""); err != nil {
				return err
			}
			c.Subnets = append(c.Subnets, subnet)
		}
		if o.Internet {
			public, _, err := s.subnet(ctx, c.VPC, zones[0], cidr, "")
			if err != nil {
				return err
			}
			if err := s.internet(ctx, c.VPC, []Subnet{public}); err != nil {
				return err
			}
			if err := s.nat(ctx, c.VPC, public, c.Subnets); err != nil {
				return err
			}
		}
		if c.LocalZoneID, err = e.PrivateZone(ctx, c.Account, c.LocalZone, c.VPC); err != nil {
			return err
		}
		if c.OIDCProvider, err = s.oidcProvider(ctx, o.Issuer); err != nil {
			return err
		}
		trust := TrustWebIdentity(c.OIDCProvider, names.ControlPlaneOperatorSubject)
		if c.Role, err = e.Role(ctx, c.Account, c.InfraID+"-"+names.ControlPlaneOperator, trust); err != nil {
			return err
		}
		trust = TrustWebIdentity(c.OIDCProvider, names.CAPIProviderSubject)
		if c.NodePoolRole, err = e.Role(ctx, c.Account, c.InfraID+"-node-pool", trust); err != nil {
			return err
		}
		trust = TrustWebIdentity(c.OIDCProvider, names.CloudControllerSubject)
		if c.CloudControllerRole, err = e.Role(ctx, c.Account, c.InfraID+"-cloud-controller", trust); err != nil {
			return err
		}
		trust = TrustWebIdentity(c.OIDCProvider, names.KarpenterSubject)
		if c.KarpenterRole, err = e.Role(ctx, c.Account, c.InfraID+"-karpenter", trust); err != nil {
			return err
		}
		trust = TrustWebIdentity(c.OIDCProvider, names.IngressSubject)
		if c.IngressRole, err = e.Role(ctx, c.Account, c.InfraID+"-openshift-ingress", trust); err != nil {
			return err
		}
		trust = TrustWebIdentity(c.OIDCProvider, names.ImageRegistrySubject, names.ImageRegistryPodSubject)
		if c.ImageRegistryRole, err = e.Role(ctx, c.Account, c.InfraID+"-openshift-image-registry", trust); err != nil {
			return err
		}
		c.InstanceProfile = names.InstanceProfile(c.InfraID)
		return e.InstanceProfile(ctx, c.Account, c.InstanceProfile)
	})
	if err != nil {
		return nil, fmt.Errorf("seeding customer account %s: %w", c.Account, err)
	}
	return c, nil
}

// PrivateZone makes a private hosted zone on a VPC of the account and gives its id.
func (e *Emulator) PrivateZone(ctx context.Context, account, name, vpc string) (string, error) {
	zone, err := route53.NewFromConfig(e.Config(account)).CreateHostedZone(ctx, &route53.CreateHostedZoneInput{
		Name:             aws.String(name),
		CallerReference:  aws.String(name + "/" + vpc),
		HostedZoneConfig: &route53types.HostedZoneConfig{PrivateZone: true},
		VPC:              &route53types.VPC{VPCId: aws.String(vpc), VPCRegion: route53types.VPCRegion(e.region)},
	})
	if err != nil {
		return "", fmt.Errorf("making private zone %s: %w", name, err)
	}
	return strings.TrimPrefix(aws.ToString(zone.HostedZone.Id), "/hostedzone/"), nil
}
