package integration

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/internal/leader"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/internal/release/payload"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/fixture"
	"github.com/hosted-control-planes/hypershift/test/fixture/accounts"
	"github.com/hosted-control-planes/hypershift/test/fixture/process"
	"github.com/hosted-control-planes/hypershift/test/fixture/registry"
)

// environment is a management cluster in an AWS account, a registry with a release, and the operators.
type environment struct {
	*fixture.Fixture
	AWS        *awsemulator.Emulator
	Management *awsemulator.Management
	operators  *operators

	// release is the release of the sample clusters.
	release  string
	root     string // of this checkout
	logs     string // directory with the logs of AWS and of the operators
	awsLog   *os.File
	registry *registry.Registry
	keep     bool
}

// startEnvironment starts the environment. If it fails, it stops all components that it has started.
func startEnvironment(ctx context.Context) (_ *environment, err error) {
	e := &environment{}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.stop())
		}
	}()
	if e.root, err = pinned.Root(); err != nil {
		return nil, err
	}
	if e.logs, err = os.MkdirTemp("", "hypershift-integration-"); err != nil {
		return nil, fmt.Errorf("making the directory of logs: %w", err)
	}
	if err := fixture.Prepare(ctx, os.Stderr); err != nil {
		return nil, err
	}
	if err := e.startAWS(ctx); err != nil {
		return nil, err
	}
	crds, err := fixture.DefaultCRDs()
	if err != nil {
		return nil, err
	}
	if e.Fixture, err = fixture.Start(ctx, fixture.Options{Progress: os.Stderr, CRDs: crds, Audit: true}); err != nil {
		return nil, err
	}
	if err := e.StartCloud(ctx, e.AWS, e.Management); err != nil {
		return nil, err
	}
	if err := e.pushRelease(ctx); err != nil {
		return nil, err
	}
	return e, e.install(ctx)
}

// startAWS starts AWS with the account of the management cluster.
func (e *environment) startAWS(ctx context.Context) (err error) {
	if e.awsLog, err = os.Create(e.log("awsemulator")); err != nil {
		return fmt.Errorf("opening the log of the AWS emulator: %w", err)
	}
	if e.AWS, err = awsemulator.Start(ctx, awsemulator.Options{Progress: os.Stderr, Log: e.awsLog}); err != nil {
		return err
	}
	e.Management, err = e.AWS.SeedManagement(ctx, awsemulator.ManagementOptions{})
	return err
}

// pushRelease starts a registry with one release. No registry contains the images of its components: no kubelet runs them here.
func (e *environment) pushRelease(ctx context.Context) (err error) {
	if e.registry, err = registry.Start(); err != nil {
		return err
	}
	const version = "1.36.3"
	images := map[string]string{}
	for _, name := range names.RequiredImages {
		images[name] = fmt.Sprintf("registry.example.test/%s@sha256:%x", name, sha256.Sum256([]byte(name+version)))
	}
	e.release, err = e.registry.Push(ctx, "kubernetes-release:v"+version, &payload.Description{
		Version: version, Components: images,
		BootImages: map[hyperv1.Architecture]map[string]release.BootImage{
			hyperv1.ArchitectureAMD64: {accounts.Region: {AMI: awsemulator.ImageAMD64}},
			hyperv1.ArchitectureARM64: {accounts.Region: {AMI: awsemulator.ImageARM64}},
		},
	})
	return err
}

// install installs the shipped permissions and starts the operators.
func (e *environment) install(ctx context.Context) error {
	if err := e.ApplyYAML(ctx, "{apiVersion: v1, kind: Namespace, metadata: {name: "+operatorNamespace+"}}"); err != nil {
		return err
	}
	manifests, err := filepath.Glob(e.path("config", "rbac", "*", "*.yaml"))
	if err != nil {
		return err
	}
	if err := e.ApplyFiles(ctx, nil, append(manifests, e.path("config", "scheduling", "priority_classes.yaml"))...); err != nil {
		return err
	}
	role, err := accounts.OperatorRole(ctx, e.AWS, e.Management.Account, e.Management.Bucket)
	if err != nil {
		return err
	}
	credentials := filepath.Join(e.logs, "credentials")
	content := fmt.Sprintf("[default]\nrole_arn = %s\nsource_profile = account\n[account]\naws_access_key_id = %s\naws_secret_access_key = any\n", role, e.Management.Account)
	if err := os.WriteFile(credentials, []byte(content), 0o600); err != nil {
		return fmt.Errorf("writing the credentials of the operator: %w", err)
	}
	// The AWS SDK and the leader election read the environment of the process, which all operators share here. The
	// credentials belong to the hypershift-operator; the control-plane-operators make their own.
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": e.AWS.URL, "AWS_ENDPOINT_URL_STS": e.AWS.URL, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_REGION": accounts.Region, "AWS_SHARED_CREDENTIALS_FILE": credentials,
		leader.PodName: "operator-0",
	} {
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("preparing the environment of the operators: %w", err)
		}
	}
	e.operators, err = startOperators(ctx, e)
	return err
}

// stopAndReport stops the environment after the tests. After a failure it keeps the logs and prints where they are.
func (e *environment) stopAndReport(failed bool) error {
	if failed {
		e.keep = true
		e.Keep()
		fmt.Fprintf(os.Stderr, "last lines of the operators:\n%s\nall logs: %s %s\n", process.Tail(e.log("operators"), 20), e.logs, filepath.Join(e.Dir, "logs"))
	}
	return e.stop()
}

func (e *environment) stop() error {
	var errs []error
	if e.operators != nil {
		errs = append(errs, e.operators.stop())
	}
	if e.Fixture != nil {
		errs = append(errs, e.Stop())
	}
	if e.registry != nil {
		errs = append(errs, e.registry.Stop())
	}
	if e.AWS != nil {
		e.AWS.Stop()
	}
	if e.awsLog != nil {
		errs = append(errs, e.awsLog.Close())
	}
	if !e.keep && e.logs != "" {
		errs = append(errs, os.RemoveAll(e.logs))
	}
	return errors.Join(errs...)
}

// newCustomer prepares a customer's account for a hosted cluster of that name.
func (e *environment) newCustomer(ctx context.Context, name, infraID string) (*accounts.Customer, error) {
	return accounts.NewCustomer(ctx, e.AWS, e.Management.Bucket, e.release, e.AWS.NewAccount(), name, infraID)
}

// path is a path in this checkout.
func (e *environment) path(elem ...string) string {
	return filepath.Join(append([]string{e.root}, elem...)...)
}

func (e *environment) log(name string) string { return filepath.Join(e.logs, name+".log") }
