package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/clusteriam"
	awsinfra "github.com/hosted-control-planes/hypershift/internal/cli/aws/infra"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustermanifests"
)

// check makes all checks that are possible before anything exists in AWS: checks of the specs, the operator's checks, and with a
// dry run the API server's checks.
func (o *createOptions) check(ctx context.Context, env operation.Environment, m *management.API, t Target) error {
	draft := t.Cluster
	if !t.GivenNetwork {
		spec := t.exampleNetwork()
		if err := operation.Check(spec.Validate()); err != nil {
			return err
		}
		draft.Infra = clustermanifests.ExampleInfra(spec)
	}
	if !t.GivenRoles {
		spec := clustermanifests.ExampleIAM(t.Roles, t.VPCOwner.Given())
		if err := operation.Check(spec.Validate()); err != nil {
			return err
		}
		draft.IAM = clusteriam.NewOutput(spec)
	}
	if err := operation.Check(draft.Validate()); err != nil {
		return err
	}
	return o.dryRun(ctx, env, t.existing(m), draft)
}

// exampleNetwork is the network with a zone, if only AWS knows which zones exist.
func (t Target) exampleNetwork() awsinfra.Spec {
	spec := t.Network
	if len(spec.Zones) == 0 {
		spec.Zones = []string{spec.Region + "a"}
	}
	return spec
}

// dryRun lets the API server check the objects: the rules of its CRDs, its admission, and the permissions of the user. The namespace
// is created, because no object can be checked without it. Objects that exist must have the values of this command.
func (o *createOptions) dryRun(ctx context.Context, env operation.Environment, m existing, draft clustermanifests.Cluster) error {
	var errs []error
	for _, obj := range draft.Objects() {
		var options []client.CreateOption
		namespace, isNamespace := obj.(*corev1.Namespace)
		if !isNamespace || o.Plan {
			options = append(options, client.DryRunAll)
		}
		err := client.WithFieldValidation(m.Client, metav1.FieldValidationStrict).Create(ctx, obj.DeepCopyObject().(client.Object), options...)
		switch {
		case err == nil && isNamespace && o.Plan:
			fmt.Fprintf(env.Err, "namespace %s does not exist: the API server has not checked the objects\n", namespace.Name)
			return nil
		case err == nil, isNamespace && apierrors.IsAlreadyExists(err):
		case apierrors.IsAlreadyExists(err):
			found, err := m.read(ctx, obj)
			if err != nil {
				return fmt.Errorf("reading %s: %w", title(obj), err)
			}
			errs = append(errs, m.conflict(found, obj))
		case isNamespace && apierrors.IsForbidden(err):
			// The user may have a namespace and no right to create one.
			if getErr := m.Get(ctx, client.ObjectKeyFromObject(obj), &corev1.Namespace{}); getErr != nil && !apierrors.IsForbidden(getErr) {
				return fmt.Errorf("creating namespace %s: %w", namespace.Name, err)
			}
		case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
			errs = append(errs, &operation.UsageError{Err: fmt.Errorf("the API server rejects %s: %w", title(obj), err)})
		default:
			return fmt.Errorf("checking %s: %w", title(obj), err)
		}
	}
	return errors.Join(append(errs, m.missingZones(ctx, draft))...)
}

// missingZones returns an error for node pools of an earlier run in zones that this command leaves out: it would not delete them.
func (m existing) missingZones(ctx context.Context, draft clustermanifests.Cluster) error {
	found := &hyperv1.NodePoolList{}
	if err := m.List(ctx, found, client.InNamespace(draft.Namespace), client.MatchingLabels{clustermanifests.InfraIDLabel: m.infraID}); err != nil {
		return fmt.Errorf("listing the node pools: %w", err)
	}
	desired := draft.NodePools()
	var errs []error
	for i := range found.Items {
		np := &found.Items[i]
		if !slices.ContainsFunc(desired, func(d *hyperv1.NodePool) bool { return d.Name == np.Name }) && np.DeletionTimestamp.IsZero() {
			errs = append(errs, &operation.UsageError{Err: fmt.Errorf("an earlier command has created NodePool %s/%s, and this one leaves it out: add its zone to --zones, or delete it with `hypershift destroy nodepool --name %s --namespace %s`",
				np.Namespace, np.Name, np.Name, np.Namespace)})
		}
	}
	return errors.Join(errs...)
}
