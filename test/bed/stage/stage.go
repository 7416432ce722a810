// Package stage sets everything up that a hosted cluster needs, for the demo and for the integration tests:
//
//	management cluster (bed) + management account ─► cloud-controller-manager
//	registry with a release
//	hypershift-operator, as a Deployment ─► control-plane-operators, Cluster API and its AWS provider, as it deploys them
//	customer accounts, one per hosted cluster (NewCustomer)
//	hosted API server and machines, for stories about nodes (StartMachines)
package stage

import (
	"context"
	_ "embed" // standin.yaml
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hosted-control-planes/hypershift/hack/binaries/gobuild"
	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/bed"
	"github.com/hosted-control-planes/hypershift/test/bed/accounts"
	"github.com/hosted-control-planes/hypershift/test/bed/podrunner"
	"github.com/hosted-control-planes/hypershift/test/bed/process"
	"github.com/hosted-control-planes/hypershift/test/bed/registry"
)

//go:embed standin.yaml
var standIn string

// region is where everything is.
const region = accounts.Region

// Options say how the stage is set.
type Options struct {
	// Progress gets a line per thing that starts, and per start and end of an operator.
	Progress io.Writer
	// Delays is how long AWS takes; nil for the emulator's own, which suit tests.
	Delays awsemulator.Delays
	// Resync is how often the operators look at AWS although nothing has changed here; 0 is every few seconds.
	Resync time.Duration
	// Audit lets the management cluster write down what service accounts ask of it.
	Audit bool
}

// Stage is a management cluster with the operator, and AWS.
type Stage struct {
	*bed.Bed
	AWS        *awsemulator.Emulator
	Management *awsemulator.Management
	Pods       *podrunner.Runner
	// ReleaseImage is what the samples' clusters run.
	ReleaseImage string

	// Dir holds what is not the bed's: the operators' programs in bin, their logs and that of AWS in logs, their pods.
	Dir string

	root     string
	awsLog   *os.File
	registry *registry.Registry
	keep     bool
	options  Options

	mu       sync.Mutex
	machines []*Machines
	stopped  bool // no more machines
}

// Start sets the stage. On failure everything that had started is stopped again.
func Start(ctx context.Context, opts Options) (_ *Stage, err error) {
	if opts.Progress == nil {
		opts.Progress = io.Discard
	}
	if opts.Resync == 0 {
		opts.Resync = 3 * time.Second
	}
	s := &Stage{options: opts}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop())
		}
	}()
	if s.root, err = pinned.Root(); err != nil {
		return nil, err
	}
	if s.Dir, err = os.MkdirTemp("", "hypershift-stage-"); err != nil {
		return nil, fmt.Errorf("making the directory of the stage: %w", err)
	}
	for _, dir := range []string{"bin", "logs"} {
		if err := os.Mkdir(filepath.Join(s.Dir, dir), 0o755); err != nil {
			return nil, fmt.Errorf("making the directory of the stage: %w", err)
		}
	}

	if err := bed.Prepare(ctx, opts.Progress, slices.Sorted(maps.Values(managers))...); err != nil {
		return nil, err
	}

	// The compiler keeps one core busy while the servers wait for one another.
	var built, cluster error
	var wg sync.WaitGroup
	wg.Go(func() { built = s.build(ctx) })
	wg.Go(func() { cluster = s.startCluster(ctx) })
	wg.Wait()
	if err := errors.Join(built, cluster); err != nil {
		return nil, err
	}
	return s, s.startOperator(ctx)
}

// build builds the programs of the image, with the flags of `go test` and `go run`, so that most of it is compiled already.
func (s *Stage) build(ctx context.Context) error {
	for _, dir := range []string{"hypershift-operator", "control-plane-operator", "control-plane-operator/companion"} {
		program := filepath.Base(dir)
		err := gobuild.Run(ctx, s.options.Progress, gobuild.Spec{
			Label:   "building " + program,
			Dir:     s.root,
			Package: "./" + dir,
			Output:  filepath.Join(s.bin(), program),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// startCluster starts AWS, and the management cluster in one of its accounts.
func (s *Stage) startCluster(ctx context.Context) (err error) {
	if s.awsLog, err = os.Create(filepath.Join(s.Dir, "logs", "awsemulator.log")); err != nil {
		return fmt.Errorf("opening the log of the AWS emulator: %w", err)
	}
	s.AWS, err = awsemulator.Start(ctx, awsemulator.Options{Progress: s.options.Progress, Log: s.awsLog})
	if err != nil {
		return err
	}
	if s.Management, err = s.AWS.SeedManagement(ctx, awsemulator.ManagementOptions{}); err != nil {
		return err
	}
	if s.options.Delays != nil {
		if err := s.AWS.SetDelays(ctx, s.options.Delays); err != nil {
			return err
		}
	}
	if err := s.startRegistry(ctx); err != nil {
		return err
	}
	crds, err := bed.DefaultCRDs()
	if err != nil {
		return err
	}
	s.Bed, err = bed.Start(ctx, bed.Options{Progress: s.options.Progress, CRDs: crds, Audit: s.options.Audit})
	if err != nil {
		return err
	}
	if err := s.ApplyYAML(ctx, standIn); err != nil {
		return err
	}
	return s.StartCloud(ctx, s.AWS, s.Management)
}

// Keep leaves logs and state behind when the stage is struck.
func (s *Stage) Keep() {
	s.keep = true
	s.Bed.Keep()
}

// Logs are the directories with the logs of everything.
func (s *Stage) Logs() []string {
	return []string{filepath.Join(s.Dir, "logs"), filepath.Join(s.Bed.Dir, "logs")}
}

func (s *Stage) bin() string { return filepath.Join(s.Dir, "bin") }

// Stop strikes the stage: operators, machines, servers, AWS, in this order.
func (s *Stage) Stop() error {
	var errs []error
	if s.Pods != nil {
		errs = append(errs, s.Pods.Stop())
	}
	s.stopMachines()
	if s.Bed != nil {
		errs = append(errs, s.Bed.Stop())
	}
	if s.registry != nil {
		errs = append(errs, s.registry.Stop())
	}
	if s.AWS != nil {
		s.AWS.Stop()
	}
	if s.awsLog != nil {
		errs = append(errs, s.awsLog.Close())
	}
	if !s.keep && s.Dir != "" {
		errs = append(errs, os.RemoveAll(s.Dir))
	}
	return errors.Join(errs...)
}

// AWSLike gives delays like those of AWS, divided by speed.
func AWSLike(speed float64) awsemulator.Delays {
	real := map[string]time.Duration{
		"loadBalancer.create": 150 * time.Second,
		"endpoint.create":     60 * time.Second,
		"endpoint.delete":     60 * time.Second,
		"route53.change":      30 * time.Second,
		"instance.create":     20 * time.Second,
		"instance.delete":     40 * time.Second,
		"visibility":          time.Second,
	}
	delays := awsemulator.Delays{}
	for name, d := range real {
		delays[name] = time.Duration(float64(d) / speed)
	}
	return delays
}

// Path is a path in this checkout.
func (s *Stage) Path(elem ...string) string {
	return filepath.Join(append([]string{s.root}, elem...)...)
}

// Tails gives the ends of the operators' logs, for the message of a failure.
func (s *Stage) Tails() string {
	logs, err := filepath.Glob(filepath.Join(s.Dir, "logs", "*.log"))
	if err != nil {
		return err.Error()
	}
	var text strings.Builder
	for _, log := range logs {
		fmt.Fprintf(&text, "last lines of %s:\n%s\n", log, process.Tail(log, 10))
	}
	return text.String()
}
