package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/nodepool"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/clusteriam"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustermanifests"
)

// Target is the cluster to create: the request, and what the management cluster and AWS have answered. resolve and locate return it, and
// nothing changes it afterwards.
type Target struct {
	Request
	Session operation.Session
	AWS     aws.Config
	// Continued: an earlier run has created a part.
	Continued bool
}

// resolve asks the management cluster for what the request leaves open: the infra ID, the issuer, and the zones of an earlier run. It makes
// no call of AWS.
func resolve(ctx context.Context, env operation.Environment, m *management.API, cfg aws.Config, s operation.Session, r Request) (Target, error) {
	t := Target{Request: r, Session: s, AWS: cfg}
	t.Session.Region, t.Network.Region, t.Roles.Region = cfg.Region, cfg.Region, cfg.Region
	id, err := identify(ctx, env, m, r)
	if err != nil {
		return Target{}, err
	}
	t.Network.InfraID, t.Roles.InfraID, t.Continued = id.infraID, id.infraID, id.continued
	if len(t.Network.Zones) == 0 && !t.GivenNetwork {
		t.Network.Zones = id.zones
	}
	if !t.GivenRoles {
		if t.Roles.IssuerURL, err = issuer(ctx, m, r.Issuer, cfg.Region, id.infraID); err != nil {
			return Target{}, err
		}
		t.Roles.ExistingProvider = r.Issuer.URL != ""
	}
	if !t.GivenKey {
		t.Cluster.EncryptionKey, err = clustermanifests.NewEncryptionKey()
	}
	return t, err
}

// locate asks AWS for the rest: the zones, and the account of a shared VPC. The checks of `doctor` come before.
func (o *createOptions) locate(ctx context.Context, env operation.Environment, m *management.API, t Target) (_ Target, err error) {
	if !t.Cluster.WithoutPools && (!t.GivenNetwork || !t.GivenRoles) {
		if err := nodepool.CheckInstanceType(ctx, env, t.AWS, t.Cluster.Pool); err != nil {
			return Target{}, err
		}
	}
	if t.Network.Zones, err = o.prerequisites(ctx, env, m, t); err != nil {
		return Target{}, err
	}
	t.Roles.VPCOwner, err = vpcOwner(ctx, env, t)
	return t, err
}

// config returns the session in AWS. It makes no call.
func (o *createOptions) config(ctx context.Context, env operation.Environment, region string) (aws.Config, error) {
	if region != "" && o.Region != "" && o.Region != region {
		return aws.Config{}, &operation.UsageError{Err: fmt.Errorf("--region is %s, and --infra-json is of %s", o.Region, region)}
	}
	s := o.Session
	s.Region = cmp.Or(s.Region, region)
	return s.Config(ctx, env)
}

// vpcOwner returns the account of a shared VPC, or "".
func vpcOwner(ctx context.Context, env operation.Environment, t Target) (string, error) {
	if !t.VPCOwner.Given() {
		return t.Roles.VPCOwner, nil
	}
	caller, err := awsgraph.CallerOf(ctx, t.AWS)
	if err != nil {
		return "", err
	}
	account, err := t.VPCOwner.Account(ctx, env, t.Session, t.AWS, caller.Account)
	if err != nil {
		return "", err
	}
	if owner := t.Cluster.Infra.VPCCreatorAccountID; owner != "" && owner != account {
		return "", &operation.UsageError{Err: fmt.Errorf("the VPC of --infra-json belongs to account %s, not %s: pass --vpc-owner-role-arn or --vpc-owner-aws-creds of that account", owner, account)}
	}
	return account, nil
}

// identity is the infra ID of a cluster, and what an earlier run has recorded about it.
type identity struct {
	infraID   string
	continued bool
	zones     []string
}

// identify determines the infra ID: from the flags, from the HostedCluster, from an earlier run, or a new one.
func identify(ctx context.Context, env operation.Environment, m *management.API, r Request) (identity, error) {
	c, requested := r.Cluster, r.Network.InfraID
	hc, err := m.HostedCluster(ctx, c.Namespace, c.Name)
	switch {
	case meta.IsNoMatchError(err):
		return identity{}, errors.New("the management cluster has no HostedClusters: install the operator first, or choose another cluster with --kubeconfig or --context")
	case err != nil:
		return identity{}, err
	case hc != nil && !hc.DeletionTimestamp.IsZero():
		return identity{}, fmt.Errorf("HostedCluster %s/%s is being deleted: wait until it is gone, or finish its deletion with `hypershift destroy cluster aws --name %s`", c.Namespace, c.Name, c.Name)
	case hc != nil && requested != "" && requested != hc.Spec.InfraID:
		return identity{}, &operation.UsageError{Err: fmt.Errorf("HostedCluster %s/%s exists, and its infra ID is %s, not %s: choose another name", c.Namespace, c.Name, hc.Spec.InfraID, requested)}
	case hc != nil:
		requested = hc.Spec.InfraID
	}
	recorded, err := readRecord(env, c.Namespace, c.Name)
	if err != nil {
		return identity{}, err
	}
	id := identity{infraID: requested}
	switch {
	case requested != "":
	case recorded != nil && recorded.Server != m.Server:
		return identity{}, &operation.UsageError{Err: fmt.Errorf("an earlier command has begun cluster %s/%s with infra ID %s in the management cluster %s, not %s: continue it with --infra-id %s, or pass another --infra-id",
			c.Namespace, c.Name, recorded.InfraID, recorded.Server, m.Server, recorded.InfraID)}
	case recorded != nil:
		id.infraID = recorded.InfraID
	default:
		id.infraID = clustermanifests.NewInfraID(c.Name)
	}
	begun := recorded != nil && recorded.InfraID == id.infraID
	id.continued = hc != nil || begun
	if begun {
		id.zones = recorded.Zones
	}
	return id, nil
}

// documents is the ConfigMap in which the operator publishes the bucket of OIDC documents.
var documents = client.ObjectKey{Namespace: "kube-public", Name: "oidc-storage-provider-s3-config"}

// issuer returns the URL of the cluster's issuer.
func issuer(ctx context.Context, m *management.API, r IssuerRequest, region, infraID string) (string, error) {
	if r.URL != "" {
		return r.URL, nil
	}
	if r.Bucket == "" {
		config := &corev1.ConfigMap{}
		err := m.Get(ctx, documents, config)
		switch {
		case apierrors.IsForbidden(err):
			return "", &operation.UsageError{Err: fmt.Errorf("you may not read the bucket for OIDC documents in ConfigMap %s: pass --oidc-storage-provider-s3-bucket-name", documents)}
		case err != nil && !apierrors.IsNotFound(err):
			return "", fmt.Errorf("reading ConfigMap %s: %w", documents, err)
		case config.Data["name"] == "":
			return "", &operation.UsageError{Err: fmt.Errorf("the operator has no bucket for OIDC documents (ConfigMap %s): pass --oidc-storage-provider-s3-bucket-name or --oidc-issuer-url", documents)}
		}
		r.Bucket, r.BucketRegion = config.Data["name"], cmp.Or(r.BucketRegion, config.Data["region"])
	}
	return clusteriam.S3Issuer(r.Bucket, cmp.Or(r.BucketRegion, region), infraID), nil
}
