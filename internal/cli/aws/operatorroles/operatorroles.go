// Package operatorroles is the roles of the operator and of external-dns in the account of the management cluster, as a graph of
// resources. `hypershift create operator-roles aws` creates them, and `destroy operator-roles aws` deletes them.
package operatorroles

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/hosted-control-planes/hypershift/config/iam"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/iamrole"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// OwnershipTag is the key of the ownership tag of the roles. Its value is the prefix of their names.
const OwnershipTag = "hypershift.openshift.io/operator-roles"

// Spec is the user's request.
type Spec struct {
	// Prefix of the names of the roles.
	Prefix string
	Region string
	// Partition and Account are where the roles are.
	Partition, Account string
	// IssuerURL is the issuer of the management cluster, which IAM has to know.
	IssuerURL string
	// Namespace is the namespace of the chart.
	Namespace string
	// Bucket contains the OIDC documents, and BucketRegion is its region.
	Bucket, BucketRegion string
	// PublicZoneID adds the role of external-dns, for records of the domain.
	PublicZoneID, Domain string
	Tags                 awsx.Tags
}

// Validate returns the problems, before any call of AWS. Paths are names of flags.
func (s Spec) Validate() field.ErrorList {
	var errs field.ErrorList
	flag := func(name string) *field.Path { return field.NewPath("--" + name) }
	for name, value := range map[string]string{"name-prefix": s.Prefix, "oidc-issuer-url": s.IssuerURL, "oidc-storage-provider-s3-bucket-name": s.Bucket, "operator-namespace": s.Namespace} {
		if value == "" {
			errs = append(errs, field.Required(flag(name), ""))
		}
	}
	for _, problem := range validation.IsDNS1123Label(s.Prefix) {
		if s.Prefix != "" {
			errs = append(errs, field.Invalid(flag("name-prefix"), s.Prefix, problem))
		}
	}
	if len(s.Prefix) > 48 { // names of roles have at most 64 characters
		errs = append(errs, field.TooLong(flag("name-prefix"), s.Prefix, 48))
	}
	issuer, err := url.Parse(s.IssuerURL)
	if s.IssuerURL != "" && (err != nil || issuer.Scheme != "https" || issuer.Host == "" || issuer.RawQuery != "" || issuer.Fragment != "") {
		errs = append(errs, field.Invalid(flag("oidc-issuer-url"), s.IssuerURL, "must be an https URL without a query"))
	}
	if (s.PublicZoneID == "") != (s.Domain == "") {
		errs = append(errs, field.Required(flag("external-dns-domain"), "--route53-hosted-zone-id and --external-dns-domain need each other"))
	}
	return append(errs, s.Tags.Validate(flag("additional-tags"), func(key string) bool { return key == OwnershipTag })...)
}

// Owner is the owner of the roles.
func (s Spec) Owner() awsgraph.Owner {
	return awsgraph.Owner{Key: OwnershipTag, Value: s.Prefix, Tags: s.Tags}
}

func (s Spec) issuer() string { return strings.TrimPrefix(s.IssuerURL, "https://") }

func (s Spec) arn(resource string) string {
	return fmt.Sprintf("arn:%s:iam::%s:%s", s.Partition, s.Account, resource)
}

// Names of the roles and of the service accounts of the chart.
func (s Spec) operatorRole() string    { return s.Prefix + "-operator" }
func (s Spec) externalDNSRole() string { return s.Prefix + "-external-dns" }

const (
	operatorAccount    = "hypershift-operator"
	externalDNSAccount = "external-dns"
)

// trust is the trust policy for the tokens of a service account of the chart.
func (s Spec) trust(account string) string {
	return iamrole.Document(map[string]any{
		"Effect": "Allow", "Action": "sts:AssumeRoleWithWebIdentity",
		"Principal": map[string]any{"Federated": s.arn("oidc-provider/" + s.issuer())},
		"Condition": map[string]any{"StringEquals": map[string]any{
			s.issuer() + ":sub": "system:serviceaccount:" + s.Namespace + ":" + account, s.issuer() + ":aud": "sts.amazonaws.com",
		}},
	})
}

// Nodes returns the nodes of the spec in the account of cfg.
func Nodes(cfg aws.Config, s Spec) []*rg.Node {
	client := iamrole.New(cfg, s.Owner())
	nodes := []*rg.Node{provider(client, s)}
	role := func(id, name, account, file string, variables map[string]string) {
		nodes = append(nodes,
			client.Role(iamrole.Role{ID: "role/" + id, Name: name, Trust: s.trust(account), DependsOn: []string{"oidc-provider"}}),
			client.Policy(iamrole.Policy{ID: "policy/" + id, Name: name, RoleID: "role/" + id, RoleName: name, Document: func(rg.IDs) (string, error) {
				return iamrole.Fill(file, s.Partition, variables)
			}}))
	}
	role("operator", s.operatorRole(), operatorAccount, iam.HypershiftOperator, map[string]string{"OIDC_BUCKET": s.Bucket})
	if s.PublicZoneID != "" {
		role("external-dns", s.externalDNSRole(), externalDNSAccount, iam.ExternalDNS, map[string]string{"PUBLIC_ZONE_ID": s.PublicZoneID})
	}
	return nodes
}

// provider is only looked up: it belongs to the management cluster.
func provider(client *iamrole.Client, s Spec) *rg.Node {
	arn := s.arn("oidc-provider/" + s.issuer())
	return &rg.Node{
		ID: "oidc-provider", Kind: "OIDC provider", Name: s.issuer(), ReadsAlone: true,
		Missing: fmt.Errorf("IAM does not know the issuer %s of the management cluster; on EKS: eksctl utils associate-iam-oidc-provider --cluster NAME --approve", s.IssuerURL),
		Read: func(ctx context.Context, _ rg.Lookup) (rg.Observed, error) {
			_, err := client.Reader.GetOpenIDConnectProvider(ctx, &awsiam.GetOpenIDConnectProviderInput{OpenIDConnectProviderArn: aws.String(arn)})
			if awsx.IsNotFound(err) {
				return rg.Observed{}, nil
			}
			if err != nil {
				return rg.Observed{}, err
			}
			return rg.Observed{ID: arn}, nil
		},
	}
}

// Discover finds the roles with the prefix of the spec for their deletion. kept are roles with these names that are not ours.
func Discover(ctx context.Context, cfg aws.Config, s Spec) (_ *rg.Graph, kept []string, _ error) {
	client := iamrole.New(cfg, s.Owner())
	var nodes []*rg.Node
	for _, name := range []string{s.operatorRole(), s.externalDNSRole()} {
		node, notOwned, err := client.Find(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		if notOwned != nil {
			kept = append(kept, notOwned.Error())
		}
		if node != nil {
			nodes = append(nodes, node)
		}
	}
	graph, err := rg.New(nodes...)
	return graph, kept, err
}

// Output is the result as values for the chart.
type Output struct {
	AWS         OutputAWS          `json:"aws"`
	OIDC        OutputOIDC         `json:"oidc"`
	ExternalDNS *OutputExternalDNS `json:"externalDNS,omitempty"`
}

// OutputAWS contains the values of the operator.
type OutputAWS struct {
	Region      string `json:"region"`
	PrivateLink bool   `json:"privateLink"`
	RoleARN     string `json:"roleARN"`
}

// OutputOIDC contains the values of the bucket.
type OutputOIDC struct {
	Bucket string `json:"bucket"`
	Region string `json:"region"`
}

// OutputExternalDNS contains the values of external-dns.
type OutputExternalDNS struct {
	Enabled       bool                 `json:"enabled"`
	DomainFilters []string             `json:"domainFilters"`
	TXTOwnerID    string               `json:"txtOwnerID"`
	AWS           OutputExternalDNSAWS `json:"aws"`
}

// OutputExternalDNSAWS contains the role of external-dns.
type OutputExternalDNSAWS struct {
	RoleARN string `json:"roleARN"`
}

// NewOutput returns the result of a spec that was applied.
func NewOutput(s Spec) Output {
	o := Output{
		AWS:  OutputAWS{Region: s.Region, PrivateLink: true, RoleARN: s.arn("role/" + s.operatorRole())},
		OIDC: OutputOIDC{Bucket: s.Bucket, Region: s.BucketRegion},
	}
	if s.PublicZoneID != "" {
		o.ExternalDNS = &OutputExternalDNS{
			Enabled: true, DomainFilters: []string{s.Domain}, TXTOwnerID: s.Prefix, AWS: OutputExternalDNSAWS{RoleARN: s.arn("role/" + s.externalDNSRole())},
		}
	}
	return o
}
