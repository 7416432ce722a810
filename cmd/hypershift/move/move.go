// Package move moves a hosted cluster to another management cluster while its workers and their pods run.
//
//	checks          both management clusters, the cluster, where the snapshot is stored      checks.go
//	state           HostedCluster, NodePools, keys and certificates: package clusterbundle   arrival.go
//	control plane   load balancers, endpoint services, endpoints; etcd waits for its data     arrival.go
//	sleep           the API servers of the source stop, etcd runs              ┐              departure.go
//	snapshot        all that the API servers have written, in a bucket         │ no API       departure.go
//	API server      etcd of the target begins with the snapshot                │              arrival.go
//	endpoints       private records lead to the new endpoints                  ┘              arrival.go
//	public names    external-dns of the target registers them                                 arrival.go
//	machines        Cluster API of the target adopts them                                     arrival.go
//	removal         the source deletes what it has of the cluster                             departure.go
//
// The state of a move is in the objects of both sides: the same command continues. Until the removal begins, --back goes back (back.go). If
// the source is lost, a backup in a bucket takes its place (recovery.go).
package move

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/clusterbundle"
)

const moveLong = `Moves a HostedCluster with its control plane to another management cluster. The workers and their pods keep running. The API server is not
available from the last snapshot of etcd until the new control plane has it. Kubeconfigs, certificates and tokens stay valid.

Both installations must use the same bucket for OIDC documents. The API server needs a name that stays: access mode Private, or a host name in
spec.services.

If the command ends early for any reason, the same command continues. Until the cluster is removed from the first management cluster, which the
command asks for, --back goes back.

If the first management cluster is lost, --from-backup takes its place: it names the object of a backup in its bucket.`

type moveOptions struct {
	source       management.Cluster
	target       management.Flags
	session      operation.Session
	storage      hyperv1.HCPEtcdBackupS3
	roleARN, key string
	fromBackup   string
	veleroBackup string
	plan, yes    bool
	back         bool
	timeout      time.Duration
}

// NewMove returns `move cluster`.
func NewMove(env operation.Environment) *cobra.Command {
	var o moveOptions
	c := o.source.Command("cluster", "Move a cluster to another management cluster", moveLong, false, func(ctx context.Context) error { return o.run(ctx, env) })
	c.Example = `  hypershift move cluster demo --to-kubeconfig other.kubeconfig --plan
  hypershift move cluster demo --to-kubeconfig other.kubeconfig
  hypershift move cluster demo --to-kubeconfig other.kubeconfig --from-backup s3://my-backups/prod/demo-x7k2p/20261129T030000Z-nightly.db --backup-role-arn ARN`
	f := c.Flags()
	f.StringVar(&o.target.Kubeconfig, "to-kubeconfig", "", "kubeconfig of the management cluster that the cluster moves to (required)")
	f.StringVar(&o.target.Context, "to-context", "", "context of that kubeconfig (default: its current one)")
	f.StringVar(&o.storage.Bucket, "backup-bucket", "", "bucket for the snapshot of etcd (default: that of the last HCPEtcdBackup of the cluster, as the other flags)")
	f.StringVar(&o.storage.Region, "backup-region", "", "region of the bucket (default: that of the cluster)")
	f.StringVar(&o.storage.KeyPrefix, "backup-prefix", "", "beginning of the keys in the bucket")
	f.StringVar(&o.roleARN, "backup-role-arn", "", "role that stores and reads backups of the cluster")
	f.StringVar(&o.storage.BucketOwner, "backup-bucket-owner", "", "account that must own the bucket (default: that of the role)")
	f.StringVar(&o.key, "backup-kms-key-arn", "", "key of KMS that encrypts the snapshot (default: that of the HostedCluster, else of the bucket)")
	f.StringVar(&o.fromBackup, "from-backup", "", "the first management cluster is lost: URL of a backup, s3://BUCKET/KEY, that was stored with the objects of the cluster")
	f.StringVar(&o.veleroBackup, "velero-backup", "", "with --from-backup: file of 'velero backup download' with the objects of the cluster, in place of those in the bucket")
	f.BoolVar(&o.plan, "plan", false, "check both sides and print the steps, and change nothing")
	f.BoolVar(&o.back, "back", false, "go back to the first management cluster")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask before the cluster is removed from the first management cluster")
	f.DurationVar(&o.timeout, "timeout", 30*time.Minute, "limit for each step (0: none)")
	o.session.AddFlags(c)
	return c
}

// A move is one run of the command.
type move struct {
	env            operation.Environment
	source, target *management.API // source is nil if it is lost
	moveOptions
	bundle    *clusterbundle.Bundle
	backupKey string // of a backup that takes the place of the source
}

// A step can be repeated: it finds what an earlier run has done.
type step struct {
	name, does string
	run        func(context.Context) error
}

func (m *move) steps() []step {
	if m.source == nil {
		return []step{
			{"state", "create the HostedCluster, its NodePools, keys and certificates", m.createState},
			{"control plane", "start it; its endpoints replace those of the lost management cluster", m.startControlPlane},
			{"API server", "etcd begins with the backup", m.startAPIServer},
			{"machines", "adopt them", m.adoptMachines},
		}
	}
	return []step{
		{"state", "create the HostedCluster, its NodePools, keys and certificates", m.createState},
		{"control plane", "create its load balancers and endpoints, without data", m.startControlPlane},
		{"sleep", "stop the API servers at the source: from here on there is no API", m.sleep},
		{"snapshot", "store etcd in the bucket", m.takeSnapshot},
		{"API server", "etcd begins with the snapshot", m.startAPIServer},
		{"endpoints", "private records lead to the new endpoints: there is an API again", m.switchEndpoints},
		{"public names", "they lead to the new load balancers", m.switchNames},
		{"machines", "adopt them", m.adoptMachines},
		{"removal", "delete what the source has of the cluster; there is no way back from here", m.removeSource},
	}
}

func (o *moveOptions) run(ctx context.Context, env operation.Environment) error {
	m, err := o.connect(env)
	if err != nil {
		return err
	}
	moved, err := m.check(ctx)
	if err != nil {
		return err
	}
	steps := m.steps()
	switch {
	case o.back:
		if steps, err = m.stepsBack(ctx); err != nil {
			return err
		}
	case moved:
		steps = steps[len(steps)-1:]
	}
	if o.plan {
		for i, s := range steps {
			fmt.Fprintf(env.Out, "%d. %s: %s\n", i+1, s.name, s.does)
		}
		return nil
	}
	for i, s := range steps {
		fmt.Fprintf(env.Err, "%s %d/%d %s: %s\n", env.Clock.Now().UTC().Format("15:04:05"), i+1, len(steps), s.name, s.does)
		if err := s.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	fmt.Fprintf(env.Err, "cluster %s runs on %s\n", o.source.Key(), m.at().Server)
	return nil
}

// at is where the cluster is after the move.
func (m *move) at() *management.API {
	if m.back {
		return m.source
	}
	return m.target
}

func (o *moveOptions) connect(env operation.Environment) (*move, error) {
	switch {
	case o.target.Kubeconfig == "" && o.target.Context == "":
		return nil, &operation.UsageError{Err: errors.New("--to-kubeconfig: Required value")}
	case o.back && o.fromBackup != "":
		return nil, &operation.UsageError{Err: errors.New("--back and --from-backup exclude each other: there is no management cluster to go back to")}
	case o.veleroBackup != "" && o.fromBackup == "":
		return nil, &operation.UsageError{Err: errors.New("--from-backup: Required value: --velero-backup has the objects of a cluster, but not its etcd")}
	}
	o.storage.RoleARN, o.storage.KMSKeyARN = hyperv1.RoleARN(o.roleARN), hyperv1.KMSKeyARN(o.key)
	m := &move{env: env, moveOptions: *o}
	var err error
	if m.target, err = o.target.Connect(); err != nil {
		return nil, err
	}
	if o.fromBackup == "" {
		m.source, err = o.source.Connect()
	}
	return m, err
}
