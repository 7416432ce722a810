package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/iam"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/infra"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/leftovers"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	awsinfra "github.com/hosted-control-planes/hypershift/internal/cli/aws/infra"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustermanifests"
	"github.com/hosted-control-planes/hypershift/internal/cli/clusterprogress"
)

const destroyLong = `Deletes the HostedCluster and waits for its operators, which need the roles to delete what they have created in both accounts. Then it
deletes the roles, the network, and the Secrets that the cluster alone uses, and lists what is left. If the command ends early for any reason, the same
command continues, also on another machine: the HostedCluster has a finalizer until all is deleted.`

// finalizer keeps the HostedCluster, with the infraID in it, until everything in AWS is deleted. Other command lines use the same one.
const finalizer = "openshift.io/destroy-cluster"

type destroyOptions struct {
	operation.Session
	vpcOwner                     operation.VPCOwner
	management                   management.Flags
	plan, verbose, yes           bool
	namespace, name, infraID     string
	baseDomain, baseDomainPrefix string
	grace                        time.Duration
	managementRole               string
	preserveIAM, preserveInfra   bool
}

// NewDestroy returns `destroy cluster aws`.
func NewDestroy(env operation.Environment) *cobra.Command {
	var o destroyOptions
	c := operation.Command("aws", "Delete a cluster on AWS, with its network and its roles", destroyLong, func(ctx context.Context) error { return o.run(ctx, env) })
	c.Example = "  hypershift destroy cluster aws --name demo --plan"
	o.Session.AddFlags(c)
	o.vpcOwner.Flags(c)
	o.management.Add(c)
	f := c.Flags()
	f.StringVar(&o.name, "name", "", "name of the cluster, instead of the argument (required)")
	o.management.AddNamespace(c, &o.namespace, "namespace of the HostedCluster")
	o.management.AcceptCluster(c, &o.namespace, &o.name)
	f.StringVar(&o.infraID, "infra-id", "", "infra ID, if neither the HostedCluster nor the state of an earlier command exists")
	f.StringVar(&o.baseDomain, "base-domain", "", "domain of the cluster, for the same case: it finds private zones without a VPC")
	f.StringVar(&o.baseDomainPrefix, "base-domain-prefix", "", "prefix of the private zone in the base domain, for the same case")
	f.DurationVar(&o.grace, "cluster-grace-period", 30*time.Minute, "limit for the deletion of the HostedCluster (0: none)")
	f.BoolVar(&o.preserveIAM, "preserve-iam", false, "keep the roles and the identity provider")
	f.BoolVar(&o.preserveInfra, "preserve-infra", false, "keep the network and the hosted zones")
	f.StringVar(&o.managementRole, "management-role-arn", "", "role in the management account, to look there, too, for what is left")
	f.BoolVar(&o.plan, "plan", false, "print what would be deleted, and make no writing call")
	f.BoolVarP(&o.verbose, "verbose", "v", false, operation.VerboseUsage)
	f.BoolVarP(&o.yes, "yes", "y", false, "delete without asking")
	return c
}

func (o *destroyOptions) run(ctx context.Context, env operation.Environment) error {
	if o.name == "" {
		return &operation.UsageError{Err: errors.New("--name: Required value")}
	}
	m, err := o.management.Connect()
	if err != nil {
		return err
	}
	hc, err := m.HostedCluster(ctx, o.namespace, o.name)
	if err != nil && !meta.IsNoMatchError(err) {
		return err
	}
	r, err := o.identify(env, m, hc)
	if err != nil {
		return err
	}
	accounts, err := o.accounts(ctx, env, hc, &r)
	if err != nil {
		return err
	}
	objects, err := o.objects(ctx, m, hc, r.InfraID)
	if err != nil {
		return err
	}
	if o.plan {
		return o.printPlan(ctx, env, r, objects)
	}
	for _, obj := range objects {
		fmt.Fprintf(env.Err, "- %s\n", title(obj))
	}
	question := fmt.Sprintf("Delete cluster %s/%s and everything of infra ID %s in %s, region %s?", o.namespace, o.name, r.InfraID, accounts, o.Region)
	if err := operation.Confirm(env, o.yes, question); err != nil {
		return err
	}
	// The HostedCluster may be gone, without our finalizer, before the rest is.
	if err := r.save(env, o.namespace, o.name); err != nil {
		return err
	}
	leftBehind, err := o.deleteHostedCluster(ctx, env, m, hc)
	if err != nil {
		return err
	}
	remaining, err := o.deleteAWS(ctx, env, r)
	if err != nil {
		return err
	}
	if err := o.deleteContents(ctx, env, m, r.InfraID); err != nil {
		return err
	}
	if !o.preserveIAM && !o.preserveInfra {
		found, err := leftovers.Report(ctx, env, o.Session, o.vpcOwner, o.managementRole, o.network(r))
		if err != nil {
			return fmt.Errorf("looking for what is left: %w", err)
		}
		if found > 0 {
			fmt.Fprintf(env.Err, "`hypershift leftovers aws --infra-id %s --delete` deletes them\n", r.InfraID)
			remaining = true
		}
	}
	if err := o.release(ctx, env, m); err != nil {
		return err
	}
	if err := removeRecord(env, o.namespace, o.name); err != nil {
		return err
	}
	for _, l := range leftBehind {
		fmt.Fprintf(env.Err, "not deleted by the operators: %s\n", l)
	}
	if remaining || len(leftBehind) > 0 {
		return operation.ErrRemaining
	}
	fmt.Fprintf(env.Err, "cluster %s/%s is deleted\n", o.namespace, o.name)
	return nil
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

// accounts names the accounts of the credentials, and records the account of a shared VPC. With credentials for other accounts than the
// cluster's, no resource would be found, and everything would count as deleted.
func (o *destroyOptions) accounts(ctx context.Context, env operation.Environment, hc *hyperv1.HostedCluster, r *record) (string, error) {
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

// objects returns the objects to delete in the management cluster.
func (o *destroyOptions) objects(ctx context.Context, m *management.API, hc *hyperv1.HostedCluster, infraID string) ([]client.Object, error) {
	var objects []client.Object
	if hc != nil {
		hc.SetGroupVersionKind(hyperv1.GroupVersion.WithKind("HostedCluster"))
		objects = append(objects, hc)
		pools, err := m.NodePools(ctx, o.namespace, o.name)
		if err != nil {
			return nil, err
		}
		for i := range pools {
			pools[i].SetGroupVersionKind(hyperv1.GroupVersion.WithKind("NodePool"))
			objects = append(objects, &pools[i])
		}
	}
	contents, err := o.contents(ctx, m, infraID)
	return append(objects, contents...), err
}

// contents returns the Secrets and ConfigMaps that only the cluster uses.
func (o *destroyOptions) contents(ctx context.Context, m *management.API, infraID string) ([]client.Object, error) {
	selector := []client.ListOption{client.InNamespace(o.namespace), client.MatchingLabels{
		clustermanifests.InfraIDLabel: infraID, clustermanifests.DeletableLabel: "true",
	}}
	secrets, configMaps := &corev1.SecretList{}, &corev1.ConfigMapList{}
	if err := m.List(ctx, secrets, selector...); err != nil {
		return nil, fmt.Errorf("listing the Secrets of the cluster: %w", err)
	}
	if err := m.List(ctx, configMaps, selector...); err != nil {
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

func (o *destroyOptions) printPlan(ctx context.Context, env operation.Environment, r record, objects []client.Object) error {
	for _, obj := range objects {
		fmt.Fprintf(env.Out, "- %s\n", title(obj))
	}
	remaining, err := o.deleteAWS(ctx, env, r)
	if err == nil && len(objects) > 0 {
		err = operation.ErrChanges
	}
	if err == nil && remaining {
		err = operation.ErrRemaining
	}
	return err
}

// deleteHostedCluster deletes the HostedCluster and waits until its operators have deleted everything of it. It returns the
// resources that they report as left behind.
func (o *destroyOptions) deleteHostedCluster(ctx context.Context, env operation.Environment, m *management.API, hc *hyperv1.HostedCluster) ([]string, error) {
	if hc == nil {
		return nil, nil
	}
	if hc.DeletionTimestamp.IsZero() {
		if err := keep(ctx, m, hc); err != nil {
			return nil, err
		}
		if err := m.Delete(ctx, hc, client.Preconditions{UID: &hc.UID}); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("deleting HostedCluster %s/%s: %w", o.namespace, o.name, err)
		}
		fmt.Fprintf(env.Err, "deleting HostedCluster %s/%s\n", o.namespace, o.name)
	}
	last := hc
	err := management.Wait(ctx, env, o.grace, func(ctx context.Context) (clusterprogress.Progress, error) {
		current, err := m.HostedCluster(ctx, o.namespace, o.name)
		if err != nil {
			return clusterprogress.Progress{}, err
		}
		if current != nil && current.UID != hc.UID {
			return clusterprogress.Progress{}, fmt.Errorf("HostedCluster %s/%s was created again by someone; nothing in AWS was deleted", o.namespace, o.name)
		}
		if current == nil {
			return clusterprogress.Progress{Done: true}, nil
		}
		last = current
		pools, err := m.NodePools(ctx, o.namespace, o.name)
		return clusterprogress.Deletion(current, pools, finalizer), err
	})
	if err != nil {
		return nil, err
	}
	var remaining []string
	for _, l := range last.Status.LeftBehind {
		remaining = append(remaining, strings.Join(strings.Fields(strings.Join([]string{l.Service, l.Type, l.ID, l.Reason}, " ")), " "))
	}
	return remaining, nil
}

// keep adds our finalizer.
func keep(ctx context.Context, m *management.API, hc *hyperv1.HostedCluster) error {
	// The operator writes the status of the object at any moment, which is a conflict.
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := m.Get(ctx, client.ObjectKeyFromObject(hc), hc); err != nil {
			return fmt.Errorf("reading HostedCluster %s/%s: %w", hc.Namespace, hc.Name, err)
		}
		if slices.Contains(hc.Finalizers, finalizer) || !hc.DeletionTimestamp.IsZero() {
			return nil
		}
		return setFinalizers(ctx, m, hc, append(slices.Clone(hc.Finalizers), finalizer))
	})
}

// setFinalizers fails if the object has changed since it was read: a finalizer of the operator must not get lost.
func setFinalizers(ctx context.Context, m *management.API, hc *hyperv1.HostedCluster, finalizers []string) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": finalizers, "resourceVersion": hc.ResourceVersion}})
	if err != nil {
		return err
	}
	if err := m.Patch(ctx, hc, client.RawPatch(types.MergePatchType, body)); err != nil {
		return fmt.Errorf("changing the finalizers of HostedCluster %s/%s: %w", hc.Namespace, hc.Name, err)
	}
	return nil
}

// deleteAWS deletes the roles, then the network. It returns whether resources are left that it does not delete.
func (o *destroyOptions) deleteAWS(ctx context.Context, env operation.Environment, r record) (remaining bool, _ error) {
	options := operation.Options{Plan: o.plan, Verbose: o.verbose, Yes: true, Output: "text", Part: true, Session: o.Session}
	var changes error
	run := func(destroy func() error) error {
		err := destroy()
		switch {
		case errors.Is(err, operation.ErrRemaining):
			remaining = true
		case errors.Is(err, operation.ErrChanges):
			changes = err
		default:
			return err
		}
		return nil
	}
	if !o.preserveIAM {
		if err := run(func() error { return iam.Destroy(ctx, env, options, o.vpcOwner, r.InfraID) }); err != nil {
			return remaining, err
		}
	}
	if !o.preserveInfra {
		if err := run(func() error { return infra.Destroy(ctx, env, options, o.vpcOwner, o.network(r)) }); err != nil {
			return remaining, err
		}
	}
	return remaining, changes
}

// network returns the known part of the network's spec.
func (o *destroyOptions) network(r record) awsinfra.Spec {
	return awsinfra.Spec{InfraID: r.InfraID, Name: o.name, BaseDomain: r.BaseDomain, BaseDomainPrefix: r.BaseDomainPrefix}
}

func (o *destroyOptions) deleteContents(ctx context.Context, env operation.Environment, m *management.API, infraID string) error {
	objects, err := o.contents(ctx, m, infraID)
	if err != nil {
		return err
	}
	for _, obj := range objects {
		if err := m.Delete(ctx, obj); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting %s: %w", title(obj), err)
		}
		fmt.Fprintf(env.Err, "deleted %s\n", title(obj))
	}
	return nil
}

// release removes our finalizer from the HostedCluster, which is then gone.
func (o *destroyOptions) release(ctx context.Context, env operation.Environment, m *management.API) error {
	return management.Wait(ctx, env, time.Minute, func(ctx context.Context) (clusterprogress.Progress, error) {
		waiting := clusterprogress.Progress{Entries: []clusterprogress.Entry{{Name: "hostedcluster", Label: "HostedCluster " + o.name, Text: "removing the last finalizer"}}}
		hc, err := m.HostedCluster(ctx, o.namespace, o.name)
		// A HostedCluster that is not being deleted is another cluster, which was created since.
		if meta.IsNoMatchError(err) || err == nil && (hc == nil || hc.DeletionTimestamp.IsZero()) {
			return clusterprogress.Progress{Done: true}, nil
		}
		if err != nil || !slices.Contains(hc.Finalizers, finalizer) {
			return waiting, err
		}
		others := slices.DeleteFunc(slices.Clone(hc.Finalizers), func(f string) bool { return f == finalizer })
		if err := setFinalizers(ctx, m, hc, others); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return waiting, err
		}
		return waiting, nil
	})
}
