package operation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
)

// Session holds the flags for the region and the identity with which a command calls AWS.
type Session struct {
	Region   string
	RoleARN  string
	STSCreds string
	AWSCreds string
	// SecretCreds is a Secret of the management cluster, as NAMESPACE/NAME.
	SecretCreds string
}

func (s *Session) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.Region, "region", "", "AWS region (default: that of the environment or profile, else us-east-1)")
	f.StringVar(&s.RoleARN, "role-arn", "", "role to assume with the credentials")
	f.StringVar(&s.STSCreds, "sts-creds", "", "file with the output of aws sts get-session-token")
	f.StringVar(&s.SecretCreds, "secret-creds", "", "Secret of the management cluster with aws_access_key_id and aws_secret_access_key, as NAMESPACE/NAME")
	f.StringVar(&s.AWSCreds, "aws-creds", "", "shared credentials file")
	_ = f.MarkDeprecated("aws-creds", "set AWS_SHARED_CREDENTIALS_FILE or AWS_PROFILE")
}

// VPCOwner holds the flags for the account of a shared VPC.
type VPCOwner struct {
	RoleARN  string
	AWSCreds string
}

// Flags adds the flags to a command.
func (v *VPCOwner) Flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&v.RoleARN, "vpc-owner-role-arn", "", "role to assume in the account of a shared VPC")
	f.StringVar(&v.AWSCreds, "vpc-owner-aws-creds", "", "shared credentials file for the account of a shared VPC")
}

// Given is true if the VPC is shared.
func (v *VPCOwner) Given() bool { return *v != VPCOwner{} }

// Account returns the account of the VPC, or "" if the VPC is not shared. It fails if that is the cluster's account. clusterConfig is the
// cluster's session.
func (v *VPCOwner) Account(ctx context.Context, env Environment, s Session, clusterConfig aws.Config, cluster string) (string, error) {
	cfg, shared, err := v.Config(ctx, env, s, clusterConfig)
	if err != nil || !shared {
		return "", err
	}
	owner, err := awsgraph.CallerOf(ctx, cfg)
	if err != nil {
		return "", fmt.Errorf("in the account of the shared VPC: %w", err)
	}
	return owner.Account, CheckAccounts(owner, cluster)
}

// CheckAccounts returns an error if the owner of a shared VPC is in the account of the cluster.
func CheckAccounts(owner awsgraph.Caller, cluster string) error {
	if owner.Account != cluster {
		return nil
	}
	return &UsageError{Err: fmt.Errorf("%s is in account %s, which is that of the cluster: without a shared VPC, remove --vpc-owner-role-arn and --vpc-owner-aws-creds", owner.ARN, cluster)}
}

// Config returns a session in the account of the VPC: clusterConfig, if the VPC is not shared.
func (v *VPCOwner) Config(ctx context.Context, env Environment, s Session, clusterConfig aws.Config) (_ aws.Config, shared bool, _ error) {
	switch {
	case v.RoleARN != "":
		s.RoleARN = v.RoleARN
	case v.AWSCreds != "":
		s.RoleARN = ""
	default:
		return clusterConfig, false, nil
	}
	if v.AWSCreds != "" {
		s.STSCreds, s.SecretCreds, s.AWSCreds = "", "", v.AWSCreds
	}
	s.Region = clusterConfig.Region
	cfg, err := s.Config(ctx, env)
	return cfg, true, err
}

// Config returns a session. It makes no call.
func (s *Session) Config(ctx context.Context, env Environment) (aws.Config, error) {
	given := 0
	for _, source := range []string{s.STSCreds, s.AWSCreds, s.SecretCreds} {
		if source != "" {
			given++
		}
	}
	if given > 1 {
		return aws.Config{}, &UsageError{Err: errors.New("--sts-creds, --secret-creds and --aws-creds exclude each other")}
	}
	opts := awsx.Options{Region: s.Region, CredentialsFile: s.AWSCreds, Middleware: env.Middleware}
	if s.AWSCreds == "" {
		opts.AccessKey = env.AccessKey
	}
	cfg, err := awsx.NewConfig(ctx, opts)
	if err != nil {
		return aws.Config{}, err
	}
	cfg.Region = cmp.Or(cfg.Region, "us-east-1")
	if s.STSCreds != "" {
		provider, err := readSTS(s.STSCreds)
		if err != nil {
			return aws.Config{}, err
		}
		cfg.Credentials = aws.NewCredentialsCache(provider)
	}
	if s.SecretCreds != "" {
		provider, err := secretCredentials(ctx, env, s.SecretCreds)
		if err != nil {
			return aws.Config{}, err
		}
		cfg.Credentials = aws.NewCredentialsCache(provider)
	}
	if s.RoleARN != "" {
		cfg = awsx.AssumeRole(cfg, clock.RealClock{}, s.RoleARN)
	}
	return awsgraph.Limited(cfg), nil
}

// ConfigAndCaller returns a session and the account that it is in. It fails if AWS does not accept the credentials.
func (s *Session) ConfigAndCaller(ctx context.Context, env Environment) (aws.Config, awsgraph.Caller, error) {
	cfg, err := s.Config(ctx, env)
	if err != nil {
		return aws.Config{}, awsgraph.Caller{}, err
	}
	caller, err := awsgraph.CallerOf(ctx, cfg)
	return cfg, caller, err
}

// Begin reads the tags of a command, checks the user's request before any call, and opens the session.
func (s *Session) Begin(ctx context.Context, env Environment, tags []string, check func(awsx.Tags) field.ErrorList) (aws.Config, awsgraph.Caller, error) {
	parsed, err := ParseTags(tags)
	if err != nil {
		return aws.Config{}, awsgraph.Caller{}, err
	}
	if err := Check(check(parsed)); err != nil {
		return aws.Config{}, awsgraph.Caller{}, err
	}
	return s.ConfigAndCaller(ctx, env)
}

func readSTS(path string) (aws.CredentialsProvider, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, &UsageError{Err: fmt.Errorf("reading --sts-creds: %w", err)}
	}
	var file struct {
		Credentials struct {
			AccessKeyID     string `json:"AccessKeyId"`
			SecretAccessKey string
			SessionToken    string
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, &UsageError{Err: fmt.Errorf("reading --sts-creds: %s is not JSON", path)}
	}
	c := file.Credentials
	if c.AccessKeyID == "" || c.SecretAccessKey == "" || c.SessionToken == "" {
		return nil, &UsageError{Err: fmt.Errorf("--sts-creds: %s is not the output of aws sts get-session-token", path)}
	}
	return credentials.NewStaticCredentialsProvider(c.AccessKeyID, c.SecretAccessKey, c.SessionToken), nil
}
