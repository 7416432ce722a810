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
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/clusteriam"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustermanifests"
)

// config returns the session in AWS. It makes no call.
func (o *createOptions) config(ctx context.Context, env operation.Environment) (aws.Config, error) {
	if o.network.Region != "" && o.Region != "" && o.Region != o.network.Region {
		return aws.Config{}, &operation.UsageError{Err: fmt.Errorf("--region is %s, and --infra-json is of %s", o.Region, o.network.Region)}
	}
	o.Region = cmp.Or(o.Region, o.network.Region)
	cfg, err := o.Config(ctx, env)
	if err != nil {
		return aws.Config{}, err
	}
	o.Region, o.network.Region, o.roles.Region = cfg.Region, cfg.Region, cfg.Region
	return cfg, nil
}

// accounts determines the account of a shared VPC.
func (o *createOptions) accounts(ctx context.Context, env operation.Environment, cfg aws.Config) error {
	if !o.vpcOwner.Given() {
		return nil
	}
	caller, err := awsgraph.CallerOf(ctx, cfg)
	if err != nil {
		return err
	}
	if o.roles.VPCOwner, err = o.vpcOwner.Account(ctx, env, o.Session, cfg, caller.Account); err != nil {
		return err
	}
	if owner := o.cluster.Infra.VPCCreatorAccountID; owner != "" && owner != o.roles.VPCOwner {
		return &operation.UsageError{Err: fmt.Errorf("the VPC of --infra-json belongs to account %s, not %s: pass --vpc-owner-role-arn or --vpc-owner-aws-creds of that account", owner, o.roles.VPCOwner)}
	}
	return nil
}

// identify determines the infraID: from the flags, from the HostedCluster, from an earlier run, or a new one.
func (o *createOptions) identify(ctx context.Context, env operation.Environment, m *management.API) error {
	c := &o.cluster
	hc, err := m.HostedCluster(ctx, c.Namespace, c.Name)
	if meta.IsNoMatchError(err) {
		return errors.New("the management cluster has no HostedClusters: install the operator first, or choose another cluster with --kubeconfig or --context")
	}
	if err != nil {
		return err
	}
	if hc != nil && !hc.DeletionTimestamp.IsZero() {
		return fmt.Errorf("HostedCluster %s/%s is being deleted: wait until it is gone, or finish its deletion with `hypershift destroy cluster aws --name %s`", c.Namespace, c.Name, c.Name)
	}
	if hc != nil {
		if o.network.InfraID != "" && o.network.InfraID != hc.Spec.InfraID {
			return &operation.UsageError{Err: fmt.Errorf("HostedCluster %s/%s exists, and its infra ID is %s, not %s: choose another name", c.Namespace, c.Name, hc.Spec.InfraID, o.network.InfraID)}
		}
		o.network.InfraID = hc.Spec.InfraID
	}
	r, err := readRecord(env, c.Namespace, c.Name)
	if err != nil {
		return err
	}
	if o.network.InfraID == "" {
		switch {
		case r != nil && r.Server != m.Server:
			return &operation.UsageError{Err: fmt.Errorf("an earlier command has begun cluster %s/%s with infra ID %s in the management cluster %s, not %s: continue it with --infra-id %s, or pass another --infra-id",
				c.Namespace, c.Name, r.InfraID, r.Server, m.Server, r.InfraID)}
		case r != nil:
			o.network.InfraID = r.InfraID
		default:
			o.network.InfraID = clustermanifests.NewInfraID(c.Name)
		}
	}
	o.roles.InfraID = o.network.InfraID
	o.continued = hc != nil || r != nil && r.InfraID == o.network.InfraID
	if r != nil && r.InfraID == o.network.InfraID && len(o.network.Zones) == 0 && o.infraJSON == "" {
		o.network.Zones = r.Zones
	}
	return nil
}

func (o *createOptions) record(m *management.API) record {
	return record{
		Server: m.Server, InfraID: o.network.InfraID, Region: o.network.Region,
		BaseDomain: o.network.BaseDomain, BaseDomainPrefix: o.network.BaseDomainPrefix, Zones: o.network.Zones, VPCOwner: o.roles.VPCOwner,
	}
}

// documents is the ConfigMap in which the operator publishes the bucket of OIDC documents.
var documents = client.ObjectKey{Namespace: "kube-public", Name: "oidc-storage-provider-s3-config"}

// issuer determines the issuer of the cluster.
func (o *createOptions) issuer(ctx context.Context, m *management.API, region string) error {
	switch {
	case o.iamJSON != "":
		return nil
	case o.issuerURL != "":
		o.roles.IssuerURL, o.roles.ExistingProvider = o.issuerURL, true
		return nil
	case o.bucket == "":
		config := &corev1.ConfigMap{}
		err := m.Get(ctx, documents, config)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
			return fmt.Errorf("reading ConfigMap %s: %w", documents, err)
		}
		if apierrors.IsForbidden(err) {
			return &operation.UsageError{Err: fmt.Errorf("you may not read the bucket for OIDC documents in ConfigMap %s: pass --oidc-storage-provider-s3-bucket-name", documents)}
		}
		if config.Data["name"] == "" {
			return &operation.UsageError{Err: fmt.Errorf("the operator has no bucket for OIDC documents (ConfigMap %s): pass --oidc-storage-provider-s3-bucket-name or --oidc-issuer-url", documents)}
		}
		o.bucket, o.bucketRegion = config.Data["name"], cmp.Or(o.bucketRegion, config.Data["region"])
	}
	o.roles.IssuerURL = clusteriam.S3Issuer(o.bucket, cmp.Or(o.bucketRegion, region), o.roles.InfraID)
	return nil
}
