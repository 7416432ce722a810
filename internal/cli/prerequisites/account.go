package prerequisites

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/accountcheck"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/zone"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// Machines are machines of one kind that a cluster has, or will have.
type Machines struct {
	InstanceType string
	Arch         hyperv1.Architecture
	// Zones are the zones of their subnets, and Count is the number of machines that will be created.
	Zones zone.List
	Count int
	// Image is the machine image; empty for the release's image.
	Image string
}

// Release is a release image that a cluster will have.
type Release struct {
	Image      string
	PullSecret []byte
	Mirrors    []hyperv1.ImageContentSource
	// Found is its content, or Err why it cannot be read.
	Found *release.Release
	Err   error
}

// machineFacts are the facts of EC2 about machines.
type machineFacts struct {
	// Offered are the names of the zones with the instance type, and OfferedErr why they are not known.
	Offered    []string
	OfferedErr error
	// AMI is the id of the machine image, Image the image in EC2, nil if it does not exist, and ImageErr why it is not known.
	AMI      string
	Image    *accountcheck.Image
	ImageErr error
}

// GatherRelease reads the release image of a new cluster, as this machine reaches its registry. Overrides are the operator's overrides.
func (f *Facts) GatherRelease(ctx context.Context, r *Release, options release.Options) {
	overrides, err := release.ParseOverrides(f.argument("registry-overrides"))
	if err != nil {
		r.Err = err
		return
	}
	options.Overrides = overrides
	r.Found, r.Err = release.From(r.Mirrors, release.New(options)).Resolve(ctx, r.Image, r.PullSecret)
}

// gatherMachines reads the facts of EC2 about the cluster's machines.
func (a *AWS) gatherMachines(ctx context.Context, cfg aws.Config) {
	a.machines = make([]machineFacts, len(a.Cluster.Machines))
	var group sync.WaitGroup
	for i, m := range a.Cluster.Machines {
		facts := &a.machines[i]
		group.Go(func() {
			facts.Offered, facts.OfferedErr = accountcheck.Offered(ctx, cfg, m.InstanceType)
		})
		facts.AMI = m.Image
		if r := a.Cluster.Release; facts.AMI == "" && r != nil && r.Found != nil {
			boot, _ := r.Found.BootImage(m.Arch, a.Region)
			facts.AMI = boot.AMI
		}
		if facts.AMI == "" {
			continue
		}
		group.Go(func() {
			facts.Image, facts.ImageErr = accountcheck.FindImage(ctx, cfg, facts.AMI)
		})
	}
	group.Wait()
}

// gatherNeeds adds the vCPUs of the machines that will be created.
func (a *AWS) gatherNeeds(ctx context.Context, cfg aws.Config) {
	for _, m := range a.Cluster.Machines {
		if m.Count == 0 || !accountcheck.IsStandard(m.InstanceType) {
			continue
		}
		cpus, err := accountcheck.CPUs(ctx, cfg, m.InstanceType)
		if err != nil {
			a.Errors["vCPUs"] = errors.New(awsx.Message(err)) // the quota is then compared with the use
		}
		a.Cluster.Needs.CPUs += cpus * m.Count
	}
}

// gatherIdentity reads the caller's permissions, and the clock of AWS.
func (a *AWS) gatherIdentity(ctx context.Context, cfg aws.Config) {
	var group sync.WaitGroup
	var mu sync.Mutex
	report := func(name string, err error) {
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			a.Errors[name] = errors.New(awsx.Message(err))
		}
	}
	group.Go(func() {
		var err error
		a.Skew, err = accountcheck.Skew(ctx, cfg)
		report("skew", err)
	})
	if c := a.Cluster; c != nil && c.Spot {
		group.Go(func() {
			var err error
			a.spotRole, err = accountcheck.HasRole(ctx, cfg, accountcheck.SpotRole)
			report("spot", err)
		})
	}
	if c := a.Cluster; c != nil && c.Owner.InfraID != "" {
		group.Go(func() {
			var err error
			a.denied, err = accountcheck.DryRuns(ctx, cfg, c.Owner)
			report("dry runs", err)
		})
		group.Go(func() {
			var err error
			a.refused, err = c.simulate(ctx, cfg, a.Caller)
			report("simulation", err)
		})
	}
	group.Wait()
}

func (c *Cluster) simulate(ctx context.Context, cfg aws.Config, caller awsgraph.Caller) (denied []string, _ error) {
	for _, policy := range c.Policies {
		actions, err := accountcheck.Simulate(ctx, cfg, caller, policy)
		if err != nil {
			return nil, err
		}
		denied = append(denied, actions...)
	}
	slices.Sort(denied)
	return slices.Compact(denied), nil
}

// maxSkew is the age of requests that AWS refuses: five minutes for most services
// (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html). The SDK corrects the clock of the commands; the tokens of a
// cluster that this machine creates have times of their own.
const maxSkew, warnSkew = 5 * time.Minute, 30 * time.Second

func (a *AWS) identity() Result {
	if want := accountcheck.Partition(a.Region); a.Caller.Partition != want {
		return failed("use credentials of the partition "+want+", or a region of "+a.Caller.Partition, "the credentials are of the partition %s, and region %s is in %s", a.Caller.Partition, a.Region, want)
	}
	return passed("%s, from STS of region %s", a.Caller.ARN, a.Region)
}

func (a *AWS) clock() Result {
	const action = "synchronize the clock of this machine, such as with chrony and 169.254.169.123 in EC2"
	skew := a.Skew.Abs().Round(time.Second)
	switch err := a.Errors["skew"]; {
	case err != nil:
		return unknown("check the credentials", "%v", err)
	case skew >= maxSkew:
		return failed(action, "the clock of this machine differs from the clock of AWS by %s, and AWS refuses requests that are older than %s", skew, maxSkew)
	case skew >= warnSkew:
		return warning(action, "the clock of this machine differs from the clock of AWS by %s", skew)
	}
	return passed("it differs from the clock of AWS by %s", skew)
}

// offered compares the zones of the cluster with the zones in which EC2 offers the instance type.
func (a *AWS) offered(m Machines, facts machineFacts) Result {
	switch {
	case facts.OfferedErr != nil:
		return unknown("allow ec2:DescribeInstanceTypeOfferings: config/iam/commandline/doctor.json", "%s", awsx.Message(facts.OfferedErr))
	case len(facts.Offered) == 0:
		return failed("choose another --instance-type", "region %s does not offer %s", a.Region, m.InstanceType)
	}
	var with, without zone.List
	for _, z := range m.Zones {
		if slices.Contains(facts.Offered, z.Name) {
			with = append(with, z)
		} else {
			without = append(without, z)
		}
	}
	if len(without) > 0 {
		slices.Sort(facts.Offered)
		return failed("choose other --zones or another --instance-type", "%s is not offered in %s; it is offered in %s", m.InstanceType, without, strings.Join(facts.Offered, ", "))
	}
	return passed("it is offered in %s", with)
}

// architectures are the names of EC2.
var architectures = map[hyperv1.Architecture]string{hyperv1.ArchitectureAMD64: "x86_64", hyperv1.ArchitectureARM64: "arm64"}

func (a *AWS) image(m Machines, facts machineFacts) Result {
	const action = "correct bootImages of the release, or spec.platform.aws.ami of the NodePool: docs/releases.md"
	i := facts.Image
	switch want := architectures[m.Arch]; {
	case facts.ImageErr != nil:
		return unknown("allow ec2:DescribeImages: config/iam/commandline/doctor.json", "%s", awsx.Message(facts.ImageErr))
	case i == nil:
		return failed(action, "%s does not exist in region %s, or this account may not use it", facts.AMI, a.Region)
	case i.State != "available":
		return failed(action, "%s has the state %s", facts.AMI, i.State)
	case i.Architecture != want:
		return failed(action, "%s is for %s, and the machines are %s", facts.AMI, i.Architecture, want)
	case !i.Volume || i.RootDevice == "":
		return failed(action, "%s has no root volume of EBS", facts.AMI)
	}
	return passed("%s is for %s, with the root device %s", facts.AMI, i.Architecture, i.RootDevice)
}

func (a *AWS) releaseImage(r *Release) Result {
	const action = "correct --release-image or --pull-secret"
	if r.Err != nil {
		text := strings.TrimPrefix(r.Err.Error(), "release image ")
		switch release.KindOf(r.Err) {
		case release.InvalidReference, release.InvalidPullSecret, release.NotFound, release.Denied, release.NotRelease, release.Incomplete:
			return failed(action, "%s", text)
		}
		return unknown("the operator reads it, too: ValidReleaseImage in docs/conditions.md", "%s", text)
	}
	var lacks []string
	for _, m := range a.Cluster.Machines {
		if !r.Found.Carries(m.Arch) {
			lacks = append(lacks, "images for "+string(m.Arch))
		}
		if boot, _ := r.Found.BootImage(m.Arch, a.Region); m.Image == "" && boot.AMI == "" {
			lacks = append(lacks, fmt.Sprintf("a machine image for %s in %s", m.Arch, a.Region))
		}
	}
	if len(lacks) > 0 {
		return failed("add it to bootImages of the release, or choose another release or region: docs/releases.md", "%s lacks %s", r.Image, strings.Join(slices.Compact(lacks), ", "))
	}
	return passed("%s has version %s", r.Image, cmp.Or(r.Found.Version, "unknown"))
}

func (a *AWS) spot() Result {
	switch err := a.Errors["spot"]; {
	case err != nil:
		return unknown("allow iam:GetRole: config/iam/commandline/doctor.json", "%v", err)
	case !a.spotRole:
		return warning("aws iam create-service-linked-role --aws-service-name spot.amazonaws.com", "the account has no role %s, without which spot instances do not start", accountcheck.SpotRole)
	}
	return passed("%s exists", accountcheck.SpotRole)
}

// permissions compares the caller's permissions with the policies of the commands.
func (a *AWS) permissions() Result {
	const action = "allow them to the caller: config/iam/commandline; policies of the organization limit it, too"
	denied := slices.Compact(slices.Sorted(slices.Values(slices.Concat(a.denied, a.refused))))
	if len(denied) > 0 {
		return failed(action, "%s may not call %s", a.Caller.ARN, strings.Join(denied, ", "))
	}
	for _, of := range []string{"dry runs", "simulation"} {
		if err := a.Errors[of]; err != nil {
			return unknown("compare the policies of the caller with config/iam/commandline", "%v", err)
		}
	}
	return passed("%s may make the calls that were tried", a.Caller.ARN)
}
