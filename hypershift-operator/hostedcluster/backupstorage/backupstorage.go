// Package backupstorage opens the buckets of backups of etcd.
//
//	HCPEtcdBackupStorage ─► role of the cluster's token issuer, or Secret with credentials ─► session ─► bucket
package backupstorage

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/backupbucket"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// credentialsKey is the key of the Secret with a credentials file.
const credentialsKey = "credentials"

// A Session is a session with AWS, and the account that it is in.
type Session struct {
	Config  aws.Config
	Account string
}

// Sessions opens sessions in a region.
type Sessions interface {
	// OfRole opens a session of a role that trusts names.EtcdBackupSubject of the token issuer of a control plane.
	OfRole(ctx context.Context, hcp *hyperv1.HostedControlPlane, region, roleARN string) (Session, error)
	// OfKeys opens a session with an access key, or with the identity of this process if there is none, or of the role that it assumes.
	OfKeys(ctx context.Context, region string, keys *awsx.AccessKey, roleARN string) (Session, error)
}

// pollInterval is how often Secrets that users write are read again.
const pollInterval = 30 * time.Second

// An Opener opens buckets.
type Opener struct {
	// Reader reads Secrets with credentials, which are in Namespace, that of the hypershift-operator.
	Reader    client.Reader
	Namespace string
	// Sessions opens a session with AWS.
	Sessions Sessions
}

// Open opens the bucket of a storage. The backups of a control plane with a default key are encrypted with it.
func (o Opener) Open(ctx context.Context, hcp *hyperv1.HostedControlPlane, storage hyperv1.HCPEtcdBackupStorage) (*backupbucket.Bucket, error) {
	s3 := storage.S3
	if s3 == nil {
		return nil, reconcile.Block(hyperv1.BackupRejectedReason, "spec.storage has no s3")
	}
	session, err := o.session(ctx, hcp, s3)
	if err != nil {
		return nil, err
	}
	return backupbucket.New(session.Config, backupbucket.Options{
		Name: s3.Bucket, Owner: cmp.Or(s3.BucketOwner, session.Account), KMSKeyARN: string(cmp.Or(s3.KMSKeyARN, defaultKey(hcp))),
	}), nil
}

// defaultKey is the key in spec.etcd.managed.backup.
func defaultKey(hcp *hyperv1.HostedControlPlane) hyperv1.KMSKeyARN {
	if m := hcp.Spec.Etcd.Managed; m != nil && m.Backup != nil && m.Backup.AWS != nil {
		return m.Backup.AWS.KMSKeyARN
	}
	return ""
}

func (o Opener) session(ctx context.Context, hcp *hyperv1.HostedControlPlane, s3 *hyperv1.HCPEtcdBackupS3) (Session, error) {
	if s3.RoleARN != "" {
		return o.Sessions.OfRole(ctx, hcp, s3.Region, string(s3.RoleARN))
	}
	if s3.Credentials == nil {
		return Session{}, reconcile.Block(hyperv1.BackupRejectedReason, "spec.storage.s3 has neither credentials nor roleARN")
	}
	name := s3.Credentials.Name
	secret := &corev1.Secret{}
	err := o.Reader.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		return Session{}, reconcile.Wait(pollInterval, hyperv1.BackupCredentialsReason, "create Secret %s in namespace %s with an AWS credentials file in the key %s", name, o.Namespace, credentialsKey)
	}
	if err != nil {
		return Session{}, fmt.Errorf("reading Secret %s: %w", name, err)
	}
	keys, roleARN, err := parseCredentials(secret.Data[credentialsKey])
	if err != nil {
		return Session{}, reconcile.Wait(pollInterval, hyperv1.BackupCredentialsReason, "correct the key %s of Secret %s in namespace %s: %s", credentialsKey, name, o.Namespace, err)
	}
	return o.Sessions.OfKeys(ctx, s3.Region, keys, roleARN)
}

// parseCredentials reads the profile default of a credentials file. It knows the settings that are values only. Others would make this
// process run a program (credential_process), read a file (web_identity_token_file), or send requests to another host (endpoint_url):
// https://docs.aws.amazon.com/sdkref/latest/guide/settings-reference.html
func parseCredentials(text []byte) (*awsx.AccessKey, string, error) {
	found := map[string]string{}
	profile := ""
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if strings.HasPrefix(line, "[") {
			profile = strings.TrimSpace(strings.Trim(line, "[]"))
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case profile != "default":
			continue
		case !ok:
			return nil, "", fmt.Errorf("a line of the profile [default] is not of the form name = value")
		}
		switch name {
		case "aws_access_key_id", "aws_secret_access_key", "aws_session_token", "role_arn":
			found[name] = value
		case "region":
		default:
			return nil, "", fmt.Errorf("the setting %q is not supported: write aws_access_key_id and aws_secret_access_key, role_arn, or all of them", name)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, "", fmt.Errorf("it is not a credentials file")
	}
	id, secret := found["aws_access_key_id"], found["aws_secret_access_key"]
	switch {
	case (id == "") != (secret == ""):
		return nil, "", fmt.Errorf("the profile [default] has only one of aws_access_key_id and aws_secret_access_key")
	case id != "":
		return &awsx.AccessKey{ID: id, Secret: secret, Token: found["aws_session_token"]}, found["role_arn"], nil
	case found["role_arn"] != "":
		return nil, found["role_arn"], nil
	}
	return nil, "", fmt.Errorf("the profile [default] has neither aws_access_key_id nor role_arn")
}
