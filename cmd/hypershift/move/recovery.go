package move

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/awsx/backupbucket"
	"github.com/hosted-control-planes/hypershift/internal/cli/velerobackup"
	"github.com/hosted-control-planes/hypershift/internal/clusterbundle"
)

// readBackup reads the objects of the cluster from the bucket, with the credentials of the user.
func (m *move) readBackup(ctx context.Context) error {
	bucket, key, ok := strings.Cut(strings.TrimPrefix(m.fromBackup, "s3://"), "/")
	switch {
	case !ok || bucket == "" || key == "" || !strings.HasPrefix(m.fromBackup, "s3://"):
		return &operation.UsageError{Err: fmt.Errorf("--from-backup: Invalid value %q: write s3://BUCKET/KEY", m.fromBackup)}
	case m.roleARN == "":
		return &operation.UsageError{Err: errors.New("--backup-role-arn: Required value: the role that reads backups of the cluster")}
	}
	cfg, caller, err := m.session.ConfigAndCaller(ctx, m.env)
	if err != nil {
		return err
	}
	if m.storage.Region != "" {
		cfg.Region = m.storage.Region
	}
	if m.veleroBackup != "" {
		m.bundle, err = m.readVeleroBackup(ctx)
	} else {
		in := backupbucket.New(cfg, backupbucket.Options{Name: bucket, Owner: cmp.Or(m.storage.BucketOwner, caller.Account)})
		m.bundle, err = readObjects(ctx, in, key)
	}
	if err != nil {
		return err
	}
	if m.bundle.HostedCluster != m.cluster() {
		return fmt.Errorf("s3://%s/%s is a backup of HostedCluster %s: a cluster keeps its namespace and name", bucket, key, m.bundle.HostedCluster)
	}
	m.storage.Bucket, m.storage.Region, m.backupKey = bucket, cfg.Region, key
	arrived, err := m.target.HostedCluster(ctx, m.cluster().Namespace, m.cluster().Name)
	if err == nil && arrived != nil && arrived.Annotations[hyperv1.MovedFromAnnotation] != m.bundle.EndpointOwner {
		err = fmt.Errorf("%s has a HostedCluster %s that this backup was not restored to", m.target.Server, m.cluster())
	}
	return err
}

// readObjects reads the objects that were stored with a backup.
func readObjects(ctx context.Context, bucket *backupbucket.Bucket, key string) (*clusterbundle.Bundle, error) {
	text, err := bucket.Read(ctx, key+backupbucket.ObjectsSuffix)
	if err != nil {
		return nil, err
	}
	bundle, err := clusterbundle.Decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", bucket.URL(key+backupbucket.ObjectsSuffix), err)
	}
	return bundle, nil
}

// readVeleroBackup reads the objects of the cluster from a file.
func (m *move) readVeleroBackup(ctx context.Context) (*clusterbundle.Bundle, error) {
	file, err := os.Open(m.veleroBackup)
	if err != nil {
		return nil, &operation.UsageError{Err: fmt.Errorf("--velero-backup: %w", err)}
	}
	defer func() { _ = file.Close() }() // it is only read
	backup, err := velerobackup.Open(file, m.target.Scheme())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.veleroBackup, err)
	}
	return clusterbundle.Collect(ctx, backup, m.cluster())
}
