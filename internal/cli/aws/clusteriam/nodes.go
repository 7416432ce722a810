package clusteriam

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/iamrole"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Cloud is an account, with the roles of one cluster.
type Cloud struct {
	*iamrole.Client
	owner awsgraph.Owner
	// vpcOwner is the account of a shared VPC, or nil.
	vpcOwner *iamrole.Client
}

// NewCloud returns the account of cfg for the cluster of the owner.
func NewCloud(cfg aws.Config, owner awsgraph.Owner) *Cloud {
	c := &Cloud{owner: owner, Client: iamrole.New(cfg, owner)}
	c.Owns = c.ownsRole
	return c
}

// WithVPCOwner adds the account of a shared VPC.
func (c *Cloud) WithVPCOwner(cfg aws.Config) *Cloud {
	c.vpcOwner = iamrole.New(cfg, c.owner)
	return c
}

// Nodes of the roles of all graphs.
const (
	provider        = "oidc-provider"
	instanceProfile = "instance-profile"
	workerRole      = "role/worker-role"
)

// workerPolicy is the file of the only policy without ids of other resources.
const workerPolicy = "worker.json"

type builder struct {
	*Cloud
	Spec
}

// Nodes returns the nodes of the spec.
func (c *Cloud) Nodes(s Spec) []*rg.Node {
	b := builder{Cloud: c, Spec: s}
	nodes := []*rg.Node{b.provider()}
	for _, r := range s.roles() {
		nodes = append(nodes, b.role(r.node(), s.roleName(r), s.trust(r.subjects), provider),
			b.policy(r.node(), "policy/"+r.suffix, s.roleName(r), s.InfraID+"-"+r.suffix, r.policy))
	}
	if s.VPCOwner != "" {
		nodes = append(nodes, b.sharedVPC()...)
	}
	worker := names.WorkerRole(s.InfraID)
	return append(nodes, b.role(workerRole, worker, iamrole.TrustEC2()),
		b.policy(workerRole, "policy/worker-policy", worker, s.InfraID+"-worker-policy", workerPolicy),
		b.Profile(instanceProfile, names.InstanceProfile(s.InfraID)),
		b.ProfileRole(iamrole.ProfileRole{
			ID: "profile-role", ProfileID: instanceProfile, ProfileName: names.InstanceProfile(s.InfraID), RoleID: workerRole, RoleName: worker,
		}))
}

// stsAudience is the audience of tokens that the pod identity webhook mounts.
const stsAudience = "sts.amazonaws.com"

// clients are the audiences of tokens that AWS accepts from the issuer.
var clients = []string{names.WebIdentityAudience, stsAudience}

// S3Thumbprint is of the root certificate authority of S3. AWS does not compare it: it verifies issuers in S3 by its own authorities.
// But without a thumbprint IAM reads the certificate of the issuer's host, and its API reference describes this host by the discovery
// document, which does not exist before the cluster. Others pass the same thumbprint:
// https://github.com/openshift/hypershift/blob/main/cmd/fix/dr_oidc_iam.go, https://github.com/kubernetes/kops/blob/master/pkg/model/issuerdiscovery.go.
// The rule: https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateOpenIDConnectProvider.html.
const S3Thumbprint = "a9d53002e97e00e043244f3d170d6f4c414104fd"

func (b builder) provider() *rg.Node {
	arn := b.arn("oidc-provider/" + b.issuer())
	tags := b.owner.All("", nil)
	n := &rg.Node{
		ID: provider, Kind: "OIDC provider", ReadsAlone: true, Name: b.issuer(), Repeatable: true,
		Missing: fmt.Errorf("the OIDC provider of --oidc-issuer-url %s does not exist in this account; create it, or leave the flag out", b.IssuerURL),
		Read: func(ctx context.Context, l rg.Lookup) (rg.Observed, error) {
			p, err := b.Reader.GetOpenIDConnectProvider(ctx, &iam.GetOpenIDConnectProviderInput{OpenIDConnectProviderArn: aws.String(arn)})
			if awsx.IsNotFound(err) {
				return rg.Observed{}, nil
			}
			if err != nil {
				return rg.Observed{}, err
			}
			if !b.ExistingProvider && !b.ownsProvider(arn, iamrole.TagsOf(p.Tags)) {
				return rg.Observed{}, b.owner.NotOwned("OIDC provider", arn)
			}
			attributes := rg.Attributes{}
			for _, id := range p.ClientIDList {
				attributes["client "+id] = "yes"
			}
			return rg.Observed{ID: arn, Attributes: awsgraph.WithTags(attributes, iamrole.TagsOf(p.Tags))}, nil
		},
	}
	if b.ExistingProvider {
		return n
	}
	n.Desired = func(rg.IDs) rg.Attributes {
		attributes := rg.Attributes{}
		for _, c := range clients {
			attributes["client "+c] = "yes"
		}
		return awsgraph.WithTags(attributes, tags)
	}
	n.Create = func(ctx context.Context, c rg.Creation) (rg.Observed, error) {
		created, err := b.Writer.CreateOpenIDConnectProvider(ctx, &iam.CreateOpenIDConnectProviderInput{
			Url: aws.String(b.IssuerURL), ClientIDList: clients, ThumbprintList: []string{S3Thumbprint}, Tags: iamrole.WireTags(tags),
		})
		if err != nil {
			return rg.Observed{}, err
		}
		return rg.Observed{ID: aws.ToString(created.OpenIDConnectProviderArn)}, nil
	}
	// A provider is never deleted to change it: the cluster would have no access to AWS meanwhile.
	n.Update = func(ctx context.Context, u rg.Update) error {
		for _, c := range clients {
			if awsgraph.Changed(u.Changes, "client "+c) {
				_, err := b.Writer.AddClientIDToOpenIDConnectProvider(ctx, &iam.AddClientIDToOpenIDConnectProviderInput{OpenIDConnectProviderArn: aws.String(arn), ClientID: aws.String(c)})
				if err != nil {
					return err
				}
			}
		}
		if changed := awsgraph.ChangedTags(u.Changes); len(changed) > 0 {
			_, err := b.Writer.TagOpenIDConnectProvider(ctx, &iam.TagOpenIDConnectProviderInput{OpenIDConnectProviderArn: aws.String(arn), Tags: iamrole.WireTags(changed)})
			return err
		}
		return nil
	}
	return n
}

// ownsProvider is true for a provider with the tag, or with an issuer that is named after the infra ID, as other command lines create
// it without a tag.
func (c *Cloud) ownsProvider(arn string, tags awsx.Tags) bool {
	return c.owner.Owns(tags) || strings.HasSuffix(arn, "/"+c.owner.InfraID)
}

// ownsRole is true for a role with the tag, or that trusts an issuer named after the infra ID, as other command lines create it
// without a tag.
func (c *Cloud) ownsRole(r *types.Role) bool {
	trust, err := url.PathUnescape(aws.ToString(r.AssumeRolePolicyDocument))
	return c.owner.Owns(iamrole.TagsOf(r.Tags)) || err == nil && strings.Contains(trust, ":oidc-provider/") && strings.Contains(trust, "/"+c.owner.InfraID+`"`)
}

func (b builder) role(id, name, trust string, dependsOn ...string) *rg.Node {
	return b.Role(iamrole.Role{ID: id, Name: name, Trust: trust, DependsOn: dependsOn})
}

func (b builder) policy(roleID, id, roleName, name, file string) *rg.Node {
	inputs := b.inputs()
	if file == workerPolicy {
		inputs = nil
	}
	return b.Policy(iamrole.Policy{
		ID: id, Name: name, RoleID: roleID, RoleName: roleName, DependsOn: inputs,
		Document: func(ids rg.IDs) (string, error) { return b.fill(file, ids) },
	})
}
