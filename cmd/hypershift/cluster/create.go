package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/iam"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/infra"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/nodepool"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/awsx/clusteriam"
	awsinfra "github.com/hosted-control-planes/hypershift/internal/awsx/infra"
	"github.com/hosted-control-planes/hypershift/internal/clustermanifests"
	"github.com/hosted-control-planes/hypershift/internal/clusterprogress"
)

const createLong = `Creates the network, the roles and the objects of a cluster. The checks of the operator and of the API server come first, before
anything is created in AWS. If the command ends early for any reason, the same command continues.

With --infra-json and --iam-json nothing is created in AWS. With --render, too, nothing is created at all: the objects are printed.`

type createOptions struct {
	flags
	operation.Session
	management        management.Flags
	Plan, wait        bool
	timeout           time.Duration
	render, sensitive bool
	renderInto        string
}

// NewCreate returns `create cluster aws`.
func NewCreate(env operation.Environment) *cobra.Command {
	var o createOptions
	c := operation.Command("aws", "Create a cluster on AWS, with its network and its roles", createLong, func(ctx context.Context) error { return o.run(ctx, env) })
	c.Example = "  hypershift create cluster aws --name demo --base-domain example.com --zones us-east-1a,us-east-1b,us-east-1c --release-image registry.example.com/release:1.36.3 --wait"
	o.flags.add(c)
	o.Session.AddFlags(c)
	o.management.Add(c)
	f := c.Flags()
	f.BoolVar(&o.Plan, "plan", false, "print what would be created or changed, and make no writing call")
	f.BoolVar(&o.wait, "wait", false, "wait until the cluster is available and all nodes are ready")
	f.DurationVar(&o.timeout, "timeout", 30*time.Minute, "limit for --wait (0: none)")
	f.BoolVar(&o.render, "render", false, "print the objects instead of creating them (needs --infra-json and --iam-json)")
	f.StringVar(&o.renderInto, "render-into", "", "file for the objects, instead of creating them")
	f.BoolVar(&o.sensitive, "render-sensitive", false, "print the Secrets, too")
	return c
}

func (o *createOptions) run(ctx context.Context, env operation.Environment) error {
	if err := o.complete(); err != nil {
		return err
	}
	if o.renders() {
		return o.print(env)
	}
	if o.cluster.Name == "" {
		return operation.Check(o.cluster.Validate())
	}
	cfg, err := o.config(ctx, env)
	if err != nil {
		return err
	}
	m, err := o.management.Connect()
	if err != nil {
		return err
	}
	if err := o.identify(ctx, env, m); err != nil {
		return err
	}
	if err := o.issuer(ctx, m, cfg.Region); err != nil {
		return err
	}
	if err := o.check(ctx, env, m); err != nil {
		return err
	}
	if !o.cluster.WithoutPools && (o.infraJSON == "" || o.iamJSON == "") {
		if err := nodepool.CheckInstanceType(ctx, env, cfg, o.cluster.Pool); err != nil {
			return err
		}
	}
	if o.Plan {
		return o.plan(ctx, env, cfg, m)
	}
	// The infraID is recorded before anything carries it.
	if err := o.record(m).save(env, o.cluster.Namespace, o.cluster.Name); err != nil {
		return err
	}
	fmt.Fprintf(env.Err, "cluster %s/%s has infra ID %s\n", o.cluster.Namespace, o.cluster.Name, o.network.InfraID)
	if err := o.createAWS(ctx, env, cfg); err != nil {
		return err
	}
	for _, obj := range o.cluster.Objects() {
		if err := o.createObject(ctx, env, m, obj); err != nil {
			return err
		}
	}
	if !o.wait {
		return nil
	}
	return management.Wait(ctx, env, o.timeout, func(ctx context.Context) (clusterprogress.Progress, error) {
		hc, err := m.HostedCluster(ctx, o.cluster.Namespace, o.cluster.Name)
		if err != nil {
			return clusterprogress.Progress{}, err
		}
		pools, err := m.NodePools(ctx, o.cluster.Namespace, o.cluster.Name)
		return clusterprogress.Creation(hc, pools), err
	})
}

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

// identify determines the infraID: that of the flags, of the HostedCluster, of an earlier run, or a new one.
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
	if o.network.InfraID == "" {
		r, err := readRecord(env, c.Namespace, c.Name)
		if err != nil {
			return err
		}
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
	return nil
}

func (o *createOptions) record(m *management.API) record {
	return record{
		Server: m.Server, InfraID: o.network.InfraID, Region: o.network.Region,
		BaseDomain: o.network.BaseDomain, BaseDomainPrefix: o.network.BaseDomainPrefix,
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

// check makes all checks that are possible before anything exists in AWS: those of the specs, those of the operator, and with a dry
// run those of the API server.
func (o *createOptions) check(ctx context.Context, env operation.Environment, m *management.API) error {
	draft := o.cluster
	if o.infraJSON == "" {
		spec := o.exampleNetwork()
		if err := operation.Check(spec.Validate()); err != nil {
			return err
		}
		draft.Infra = clustermanifests.ExampleInfra(spec)
	}
	if o.iamJSON == "" {
		spec := clustermanifests.ExampleIAM(o.roles)
		if err := operation.Check(spec.Validate()); err != nil {
			return err
		}
		draft.IAM = clusteriam.NewOutput(spec)
	}
	if len(o.cluster.EncryptionKey) == 0 {
		key, err := clustermanifests.NewEncryptionKey()
		if err != nil {
			return err
		}
		o.cluster.EncryptionKey, draft.EncryptionKey = key, key
	}
	if err := operation.Check(draft.Validate()); err != nil {
		return err
	}
	return dryRun(ctx, env, m, draft.Objects(), o.network.InfraID, o.Plan)
}

// exampleNetwork is the network with a zone, if only AWS knows which zones exist.
func (o *createOptions) exampleNetwork() awsinfra.Spec {
	spec := o.network
	if len(spec.Zones) == 0 {
		spec.Zones = []string{spec.Region + "a"}
	}
	return spec
}

// dryRun lets the API server check the objects: the rules of its CRDs, its admission, and the permissions of the user. The namespace
// is created, because no object can be checked without it.
func dryRun(ctx context.Context, env operation.Environment, m *management.API, objects []client.Object, infraID string, planned bool) error {
	var errs []error
	for _, obj := range objects {
		var options []client.CreateOption
		namespace, isNamespace := obj.(*corev1.Namespace)
		if !isNamespace || planned {
			options = append(options, client.DryRunAll)
		}
		err := client.WithFieldValidation(m.Client, metav1.FieldValidationStrict).Create(ctx, obj.DeepCopyObject().(client.Object), options...)
		switch {
		case err == nil && isNamespace && planned:
			fmt.Fprintf(env.Err, "namespace %s does not exist: the API server has not checked the objects\n", namespace.Name)
			return nil
		case err == nil, isNamespace && apierrors.IsAlreadyExists(err):
		case apierrors.IsAlreadyExists(err):
			if err := conflict(ctx, m, obj, infraID); err != nil {
				return err
			}
		case isNamespace && apierrors.IsForbidden(err):
			// The user may have a namespace and no right to create one.
			if getErr := m.Get(ctx, client.ObjectKeyFromObject(obj), &corev1.Namespace{}); getErr != nil {
				return fmt.Errorf("creating namespace %s: %w", namespace.Name, err)
			}
		case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
			errs = append(errs, &operation.UsageError{Err: fmt.Errorf("the API server rejects %s: %w", title(obj), err)})
		default:
			return fmt.Errorf("checking %s: %w", title(obj), err)
		}
	}
	return errors.Join(errs...)
}

func title(obj client.Object) string {
	kind := obj.GetObjectKind().GroupVersionKind().Kind
	if obj.GetNamespace() == "" {
		return kind + " " + obj.GetName()
	}
	return kind + " " + obj.GetNamespace() + "/" + obj.GetName()
}

// createAWS creates what is not given by JSON.
func (o *createOptions) createAWS(ctx context.Context, env operation.Environment, cfg aws.Config) error {
	options := operation.Options{Output: "text", Session: o.Session}
	if o.infraJSON == "" {
		made, err := infra.Ensure(ctx, env, options, operation.VPCOwner{}, cfg, o.network)
		if err != nil {
			return err
		}
		o.cluster.Infra = made
	}
	if o.iamJSON == "" {
		o.roles.Inputs = inputs(o.cluster.Infra)
		made, err := iam.Ensure(ctx, env, options, operation.VPCOwner{}, cfg, o.roles)
		if err != nil {
			return err
		}
		o.cluster.IAM = made
	}
	return nil
}

func inputs(made awsinfra.Output) clusteriam.Inputs {
	return clusteriam.Inputs{
		VPC: clusteriam.Input{ID: made.VPCID}, PublicZone: clusteriam.Input{ID: made.PublicZoneID},
		PrivateZone: clusteriam.Input{ID: made.PrivateZoneID}, LocalZone: clusteriam.Input{ID: made.LocalZoneID},
	}
}

// plan prints what would be created or changed.
func (o *createOptions) plan(ctx context.Context, env operation.Environment, cfg aws.Config, m *management.API) error {
	options := operation.Options{Plan: true, Output: "text", Session: o.Session}
	changes := false
	// The ids of a network that does not exist yet are not part of any plan.
	made := clustermanifests.ExampleInfra(o.exampleNetwork())
	if o.infraJSON != "" {
		made = o.cluster.Infra
	} else {
		existing, err := infra.Ensure(ctx, env, options, operation.VPCOwner{}, cfg, o.network)
		switch {
		case errors.Is(err, operation.ErrChanges):
			changes = true
		case err != nil:
			return err
		default:
			made = existing
		}
	}
	if o.iamJSON == "" {
		o.roles.Inputs = inputs(made)
		_, err := iam.Ensure(ctx, env, options, operation.VPCOwner{}, cfg, o.roles)
		if err != nil && !errors.Is(err, operation.ErrChanges) {
			return err
		}
		changes = changes || err != nil
		o.cluster.IAM = clusteriam.NewOutput(o.roles)
	}
	o.cluster.Infra = made
	for _, obj := range o.cluster.Objects() {
		found := obj.DeepCopyObject().(client.Object)
		err := m.Get(ctx, client.ObjectKeyFromObject(obj), found)
		switch {
		case apierrors.IsNotFound(err):
			fmt.Fprintf(env.Out, "+ %s\n", title(obj))
			changes = true
		case err != nil:
			return fmt.Errorf("reading %s: %w", title(obj), err)
		default:
			fmt.Fprintf(env.Out, "  %s\n", title(obj))
		}
	}
	if changes {
		return operation.ErrChanges
	}
	return nil
}

// createObject creates an object, and keeps one that an earlier run or the user has created.
func (o *createOptions) createObject(ctx context.Context, env operation.Environment, m *management.API, obj client.Object) error {
	err := m.Create(ctx, obj.DeepCopyObject().(client.Object))
	switch _, isNamespace := obj.(*corev1.Namespace); {
	case err == nil:
		fmt.Fprintf(env.Err, "created %s\n", title(obj))
		return nil
	case isNamespace && (apierrors.IsForbidden(err) || apierrors.IsAlreadyExists(err)):
		// The user may have a namespace and no right to create one. The next object shows whether it exists.
		return nil
	case !apierrors.IsAlreadyExists(err):
		return fmt.Errorf("creating %s: %w", title(obj), err)
	}
	if err := conflict(ctx, m, obj, o.network.InfraID); err != nil {
		return err
	}
	fmt.Fprintf(env.Err, "%s exists, and is not changed\n", title(obj))
	return nil
}

// conflict returns an error if an existing object belongs to another cluster.
func conflict(ctx context.Context, m *management.API, obj client.Object, infraID string) error {
	existing := obj.DeepCopyObject().(client.Object)
	if err := m.Get(ctx, client.ObjectKeyFromObject(obj), existing); err != nil {
		return fmt.Errorf("reading %s: %w", title(obj), err)
	}
	if hc, ok := existing.(*hyperv1.HostedCluster); ok && hc.Spec.InfraID != infraID {
		return fmt.Errorf("%s exists with infra ID %s, not %s: someone has created it meanwhile", title(obj), hc.Spec.InfraID, infraID)
	}
	if other := existing.GetLabels()[clustermanifests.InfraIDLabel]; other != "" && other != infraID {
		return fmt.Errorf("%s exists and belongs to infra ID %s, not %s: delete it, and run the same command again", title(obj), other, infraID)
	}
	return nil
}
