package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	awsinfra "github.com/hosted-control-planes/hypershift/internal/cli/aws/infra"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustermanifests"
)

// destruction is the cluster to delete: the flags, and what the management cluster and AWS have answered.
type destruction struct {
	*destroyOptions
	record
	m *management.API
	// hc is nil if the HostedCluster does not exist any more.
	hc *hyperv1.HostedCluster
	// objects are the objects to delete in the management cluster.
	objects []client.Object
	// accounts names the accounts of the credentials.
	accounts string

	// leftBehind are the resources that the operators could not delete.
	leftBehind []string
	// remaining: AWS has resources of the cluster that are not deleted.
	remaining bool
}

// resolve finds the cluster to delete. It makes no writing call.
func (o *destroyOptions) resolve(ctx context.Context, env operation.Environment, m *management.API) (*destruction, error) {
	d := &destruction{destroyOptions: o, m: m}
	var err error
	if d.hc, err = m.HostedCluster(ctx, o.namespace, o.name); err != nil && !meta.IsNoMatchError(err) {
		return nil, err
	}
	if d.record, err = o.identify(env, m, d.hc); err != nil {
		return nil, err
	}
	if d.accounts, err = o.checkAccounts(ctx, env, d.hc, &d.record); err != nil {
		return nil, err
	}
	d.objects, err = d.find(ctx)
	return d, err
}

// identify returns the facts that are needed to delete the resources in AWS.
func (o *destroyOptions) identify(env operation.Environment, m *management.API, hc *hyperv1.HostedCluster) (record, error) {
	r := record{Server: m.Server, InfraID: o.infraID, Region: o.Region, BaseDomain: o.baseDomain, BaseDomainPrefix: o.baseDomainPrefix}
	if hc != nil {
		if hc.Spec.Platform.AWS == nil {
			return r, &operation.UsageError{Err: fmt.Errorf("HostedCluster %s/%s is not on AWS", o.namespace, o.name)}
		}
		if o.infraID != "" && o.infraID != hc.Spec.InfraID {
			return r, &operation.UsageError{Err: fmt.Errorf("HostedCluster %s/%s has infra ID %s, not %s", o.namespace, o.name, hc.Spec.InfraID, o.infraID)}
		}
		r.InfraID, r.Region, r.BaseDomain = hc.Spec.InfraID, hc.Spec.Platform.AWS.Region, hc.Spec.DNS.BaseDomain
		if prefix := hc.Spec.DNS.BaseDomainPrefix; prefix != nil {
			r.BaseDomainPrefix = cmp.Or(*prefix, awsinfra.NoPrefix)
		}
		if shared := hc.Spec.Platform.AWS.SharedVPC; shared != nil {
			r.VPCOwner = accountOf(shared.RolesRef.ControlPlaneARN)
		}
	} else if saved, err := readRecord(env, o.namespace, o.name); err != nil {
		return r, err
	} else if saved != nil && (o.infraID == "" || o.infraID == saved.InfraID) {
		if saved.Server != m.Server && o.infraID == "" {
			return r, &operation.UsageError{Err: fmt.Errorf("cluster %s/%s with infra ID %s was in the management cluster %s, not %s: pass --infra-id to delete what is in AWS",
				o.namespace, o.name, saved.InfraID, saved.Server, m.Server)}
		}
		r = *saved
		r.Server = m.Server
		r.Region = cmp.Or(o.Region, r.Region)
	}
	if r.InfraID == "" {
		return r, &operation.UsageError{Err: fmt.Errorf("HostedCluster %s/%s does not exist, and no earlier command has recorded its infra ID: pass --infra-id to delete what is in AWS", o.namespace, o.name)}
	}
	o.Region = r.Region
	return r, nil
}

// checkAccounts names the accounts of the credentials, and records the account of a shared VPC. With credentials for other accounts than the
// cluster's, no resource would be found, and everything would count as deleted.
func (o *destroyOptions) checkAccounts(ctx context.Context, env operation.Environment, hc *hyperv1.HostedCluster, r *record) (string, error) {
	cfg, caller, err := o.ConfigAndCaller(ctx, env)
	if err != nil {
		return "", err
	}
	o.Region = cfg.Region
	if hc != nil {
		arn := hc.Spec.Platform.AWS.RolesRef.ControlPlaneOperatorARN
		if account := accountOf(arn); account != "" && account != caller.Account {
			return "", fmt.Errorf("the credentials are of account %s, and the cluster is in account %s (role %s): pass credentials of that account", caller.Account, account, arn)
		}
	}
	owner, err := o.vpcOwner.Account(ctx, env, o.Session, cfg, caller.Account)
	if err != nil {
		return "", err
	}
	switch {
	case owner == "" && r.VPCOwner == "":
		return "account " + caller.Account, nil
	case owner == "":
		return "", &operation.UsageError{Err: fmt.Errorf("the VPC of the cluster belongs to account %s: pass --vpc-owner-role-arn or --vpc-owner-aws-creds", r.VPCOwner)}
	case hc != nil && r.VPCOwner == "":
		return "", &operation.UsageError{Err: errors.New("the VPC of the cluster is not shared: remove --vpc-owner-role-arn and --vpc-owner-aws-creds")}
	case r.VPCOwner != "" && r.VPCOwner != owner:
		return "", fmt.Errorf("--vpc-owner-role-arn or --vpc-owner-aws-creds is of account %s, and the VPC of the cluster belongs to account %s", owner, r.VPCOwner)
	}
	r.VPCOwner = owner
	return fmt.Sprintf("accounts %s and %s", caller.Account, owner), nil
}

// accountOf returns the account of a role, or "".
func accountOf(arn hyperv1.RoleARN) string {
	if parts := strings.Split(string(arn), ":"); len(parts) > 4 {
		return parts[4]
	}
	return ""
}

// find returns the objects to delete in the management cluster.
func (d *destruction) find(ctx context.Context) ([]client.Object, error) {
	var objects []client.Object
	if hc := d.hc; hc != nil {
		hc.SetGroupVersionKind(hyperv1.GroupVersion.WithKind("HostedCluster"))
		objects = append(objects, hc)
		pools, err := d.m.NodePools(ctx, d.namespace, d.name)
		if err != nil {
			return nil, err
		}
		for i := range pools {
			pools[i].SetGroupVersionKind(hyperv1.GroupVersion.WithKind("NodePool"))
			objects = append(objects, &pools[i])
		}
	}
	contents, err := d.contents(ctx)
	return append(objects, contents...), err
}

// contents returns the Secrets and ConfigMaps that only the cluster uses.
func (d *destruction) contents(ctx context.Context) ([]client.Object, error) {
	selector := []client.ListOption{client.InNamespace(d.namespace), client.MatchingLabels{
		clustermanifests.InfraIDLabel: d.InfraID, clustermanifests.DeletableLabel: "true",
	}}
	secrets, configMaps := &corev1.SecretList{}, &corev1.ConfigMapList{}
	if err := d.m.List(ctx, secrets, selector...); err != nil {
		return nil, fmt.Errorf("listing the Secrets of the cluster: %w", err)
	}
	if err := d.m.List(ctx, configMaps, selector...); err != nil {
		return nil, fmt.Errorf("listing the ConfigMaps of the cluster: %w", err)
	}
	var objects []client.Object
	for i := range secrets.Items {
		secrets.Items[i].SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		objects = append(objects, &secrets.Items[i])
	}
	for i := range configMaps.Items {
		configMaps.Items[i].SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		objects = append(objects, &configMaps.Items[i])
	}
	return objects, nil
}
