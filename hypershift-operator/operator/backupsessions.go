package operator

import (
	"context"
	"fmt"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/controllers/etcdbackup"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/controllers/etcdbackupschedule"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/controllers/etcdrestore"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/backupstorage"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/tokensigner"
)

// addEtcdBackups adds the controllers that store backups of etcd, schedule them and restore them.
func (o *Operator) addEtcdBackups() error {
	opts := etcdbackup.Options{
		Client: o.GetClient(), Reader: o.GetAPIReader(), Scheme: o.GetScheme(), Recorder: o.GetEventRecorder(names.HypershiftOperator), Clock: clock.RealClock{},
		Egress:  o.options.Egress,
		Buckets: backupstorage.Opener{Reader: o.GetAPIReader(), Namespace: o.options.Namespace, Sessions: &backupSessions{deps: o.deps, keys: o.GetAPIReader()}},
	}
	if err := etcdbackup.Setup(o, opts); err != nil {
		return fmt.Errorf("setting up HCPEtcdBackups: %w", err)
	}
	schedules := etcdbackupschedule.Options{Client: o.GetClient(), Reader: o.GetAPIReader(), Recorder: opts.Recorder, Clock: opts.Clock, Namespace: o.options.Namespace}
	if err := etcdbackupschedule.Setup(o, schedules); err != nil {
		return fmt.Errorf("setting up EtcdBackupSchedules: %w", err)
	}
	restores := etcdrestore.Options{Client: o.GetClient(), Reader: o.GetAPIReader(), Recorder: opts.Recorder, Clock: opts.Clock, Buckets: opts.Buckets}
	if err := etcdrestore.Setup(o, restores); err != nil {
		return fmt.Errorf("setting up EtcdRestores: %w", err)
	}
	return nil
}

// backupSessions opens the sessions of backups. A backup needs a few calls, so that no session is kept.
type backupSessions struct {
	deps Dependencies
	keys client.Reader
}

// OfRole signs with the key in the namespace of the control plane.
func (s *backupSessions) OfRole(ctx context.Context, hcp *hyperv1.HostedControlPlane, region, roleARN string) (backupstorage.Session, error) {
	signer := &tokensigner.Signer{Client: s.keys, Namespace: hcp.Namespace, Clock: clock.RealClock{}}
	cfg, err := s.deps.session(ctx, awsx.Options{Region: region, WebIdentity: &awsx.WebIdentity{
		RoleARN: roleARN, SessionName: names.HypershiftOperator,
		Token: func(ctx context.Context) ([]byte, error) {
			return signer.Token(ctx, hcp.Spec.IssuerURL, names.EtcdBackupSubject)
		},
	}})
	if err != nil {
		return backupstorage.Session{}, err
	}
	return inAccountOf(roleARN, cfg)
}

// OfKeys takes the identity of this process without keys.
func (s *backupSessions) OfKeys(ctx context.Context, region string, keys *awsx.AccessKey, roleARN string) (backupstorage.Session, error) {
	cfg, err := s.deps.session(ctx, awsx.Options{Region: region, AccessKey: keys})
	if err != nil {
		return backupstorage.Session{}, err
	}
	if roleARN != "" {
		return inAccountOf(roleARN, awsx.AssumeRole(cfg, clock.RealClock{}, roleARN))
	}
	at, err := identity.NewCaller(awsx.STS(cfg), cfg.Region).Location(ctx)
	if err != nil {
		return backupstorage.Session{}, err
	}
	return backupstorage.Session{Config: cfg, Account: at.Account}, nil
}

// inAccountOf returns a session of a role.
func inAccountOf(roleARN string, cfg awssdk.Config) (backupstorage.Session, error) {
	role, err := arn.Parse(roleARN)
	if err != nil || role.AccountID == "" {
		return backupstorage.Session{}, fmt.Errorf("%q is not the ARN of a role", roleARN)
	}
	return backupstorage.Session{Config: cfg, Account: role.AccountID}, nil
}
