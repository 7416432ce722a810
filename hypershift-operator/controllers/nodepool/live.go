package nodepool

import (
	"context"
	"fmt"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/requirements"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

func (r *Reconciler) live() []reconcile.Step[*scope] {
	return []reconcile.Step[*scope]{
		r.configuration(),
		{Name: "finalizer", Run: func(ctx context.Context, s *scope) error {
			return s.status.AddFinalizer(ctx, hyperv1.HostedClusterFinalizer)
		}},
		r.inputs(),
		r.support(),
		{Name: "control plane namespace", Run: func(_ context.Context, s *scope) error {
			return requirements.ControlPlaneNamespace(s.Pool)
		}},
		{Name: "cluster-wide node settings", Run: func(ctx context.Context, s *scope) (err error) {
			s.UserData.Cluster, err = requirements.ClusterSettings(ctx, r.Client, s.Pool)
			return err
		}},
		{Name: "machine template", Condition: hyperv1.NodePoolValidMachineTemplateCondition, Run: func(ctx context.Context, s *scope) error {
			return r.machines.EnsureTemplate(ctx, &s.Spec)
		}},
		{Name: "user data", Condition: hyperv1.NodePoolValidGeneratedPayloadCondition, Run: func(ctx context.Context, s *scope) error {
			return r.machines.EnsureUserData(ctx, &s.Spec)
		}},
		r.endOfPause(),
		{Name: "MachineDeployment", Run: func(ctx context.Context, s *scope) error {
			return r.machines.EnsureDeployment(ctx, &s.Spec)
		}},
		reconcile.Group(
			reconcile.Step[*scope]{Name: "tags and security groups of machines", Run: func(ctx context.Context, s *scope) error {
				return r.machines.UpdateInPlace(ctx, &s.Spec)
			}},
			reconcile.Step[*scope]{Name: "old templates", Run: func(ctx context.Context, s *scope) error {
				return s.Prune(ctx, r.Client, s.Current)
			}},
			reconcile.Step[*scope]{Name: "machines that do not join", Run: func(ctx context.Context, s *scope) (err error) {
				s.repair, err = r.repair.Replace(ctx, s.Pool, s.Health.Startup, s.status.Write)
				return err
			}},
		),
	}
}

func (r *Reconciler) configuration() reconcile.Step[*scope] {
	return reconcile.Step[*scope]{Name: "configuration", Condition: hyperv1.NodePoolValidConfigurationCondition, Run: func(_ context.Context, s *scope) error {
		return requirements.Configuration(s.NodePool, s.HostedCluster, r.missing)
	}}
}

// inputs are read from objects of the user.
func (r *Reconciler) inputs() reconcile.Step[*scope] {
	return reconcile.Group(
		reconcile.Step[*scope]{Name: "update management", Condition: hyperv1.NodePoolUpdateManagementEnabledCondition, Run: func(_ context.Context, s *scope) error {
			return requirements.UpgradeType(s.NodePool)
		}},
		reconcile.Step[*scope]{Name: "release", Condition: hyperv1.NodePoolValidReleaseImageCondition, Run: func(ctx context.Context, s *scope) (err error) {
			if s.Release, err = r.releases.Resolve(ctx, s.Pool, s.NodePool.Spec.Release.Image); err != nil {
				return err
			}
			s.Programs, err = r.releases.NodePrograms(ctx, s.Pool, s.Release)
			return err
		}},
		reconcile.Step[*scope]{Name: "node configuration", Condition: hyperv1.NodePoolValidMachineConfigCondition, Run: func(ctx context.Context, s *scope) (err error) {
			s.UserData.Pool, err = requirements.NodeConfig(ctx, r.Reader, s.NodePool, s.HostedCluster)
			return err
		}},
		reconcile.Step[*scope]{Name: "tuning", Condition: hyperv1.NodePoolValidTuningConfigCondition, Run: func(ctx context.Context, s *scope) error {
			return requirements.Tuning(ctx, r.Reader, s.NodePool)
		}},
		reconcile.Step[*scope]{Name: "health check", Condition: hyperv1.NodePoolAutorepairEnabledCondition, Run: func(_ context.Context, s *scope) (err error) {
			s.Health, err = requirements.Health(s.NodePool, s.HostedCluster)
			return err
		}},
	)
}

// support is whether the control plane, the release and EC2 support these inputs.
func (r *Reconciler) support() reconcile.Step[*scope] {
	return reconcile.Group(
		reconcile.Step[*scope]{Name: "version", Condition: hyperv1.NodePoolSupportedVersionSkewCondition, Run: func(ctx context.Context, s *scope) (err error) {
			if s.control, err = r.releases.Resolve(ctx, s.Pool, requirements.ControlPlaneImage(s.HostedCluster)); err != nil {
				return fmt.Errorf("the release of HostedCluster %s: %w", s.HostedCluster.Name, err)
			}
			return requirements.Version(s.Release, s.control, s.Pool)
		}},
		reconcile.Step[*scope]{Name: "architecture", Condition: hyperv1.NodePoolValidArchPlatformCondition, Run: func(_ context.Context, s *scope) error {
			return requirements.Arch(s.Arch(), s.Release)
		}},
		reconcile.Step[*scope]{Name: "machine image", Condition: hyperv1.NodePoolValidPlatformImageCondition, Run: func(_ context.Context, s *scope) error {
			image, err := requirements.MachineImage(s.Pool, s.Release, s.UserData.Pool)
			s.AMI, s.UserDataFormat = image.AMI, image.UserDataFormat
			return err
		}},
		reconcile.Step[*scope]{Name: "instance type", Condition: hyperv1.NodePoolValidPlatformConfigCondition, Run: func(ctx context.Context, s *scope) (err error) {
			s.InstanceType, err = requirements.InstanceType(ctx, r.InstanceTypes, s.Pool)
			return err
		}},
		reconcile.Step[*scope]{Name: "security group", Condition: hyperv1.NodePoolAWSSecurityGroupAvailableCondition, Run: func(_ context.Context, s *scope) (err error) {
			s.SecurityGroup, err = requirements.SecurityGroup(s.NodePool, s.HostedCluster)
			return err
		}},
	)
}

// endOfPause runs before the objects that a pause changes are applied or deleted.
func (r *Reconciler) endOfPause() reconcile.Step[*scope] {
	return reconcile.Step[*scope]{Name: "end of the pause", Run: func(ctx context.Context, s *scope) error { return s.Unpause(ctx, r.Client) }}
}

func (r *Reconciler) paused() []reconcile.Step[*scope] {
	return []reconcile.Step[*scope]{
		r.configuration(),
		{Name: "pause", Run: func(ctx context.Context, s *scope) error { return s.Pause(ctx, r.Client) }},
	}
}
