package prerequisites

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/accountcheck"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

const ami = "ami-0000000000000a064"

// planned are facts of a cluster that can be created.
func planned() *Facts {
	f := sound()
	f.AWS.Zones = nil
	f.AWS.spotRole = true
	f.AWS.Cluster = &Cluster{
		New: true, Private: true, Zones: accountZones[1:3], Spot: true, Needs: accountcheck.Needs{CPUs: 4, Addresses: 2, NATs: 1},
		Machines: []Machines{{InstanceType: "m5.large", Arch: hyperv1.ArchitectureAMD64, Zones: accountZones[1:3]}},
		Release: &Release{Image: "example.com/release:1", Found: &release.Release{
			Version: "1.36.3", BootImages: map[hyperv1.Architecture]map[string]release.BootImage{hyperv1.ArchitectureAMD64: {"us-east-1": {AMI: ami}}},
		}},
	}
	f.AWS.machines = []machineFacts{{
		Offered: []string{"us-east-1b", "us-east-1c"}, AMI: ami, Image: &accountcheck.Image{State: "available", Architecture: "x86_64", RootDevice: "/dev/sda1", Volume: true},
	}}
	f.AWS.Quotas = []accountcheck.Quota{{Name: "VPCs", Needed: 1, Used: 4, Limit: 5, Raise: "quota L-F678F1CE of service vpc in Service Quotas"}}
	return f
}

func TestClusterThatCanBeCreatedPasses(t *testing.T) {
	results := Run(planned())
	for _, r := range results {
		if r.Status != Passed || r.Message == "" {
			t.Errorf("%+v", r)
		}
	}
	for _, name := range []string{"Credentials", "Clock", "VPCs", "Release image", "Instance type m5.large", "Machine image " + ami, "Spot instances", "Permissions"} {
		if !slices.ContainsFunc(results, func(r Result) bool { return r.Check == name+" in 222222222222, us-east-1" }) {
			t.Errorf("there is no check %s", name)
		}
	}
	// Problems of other users' clusters do not concern the new one.
	for _, r := range results {
		if r.Check == "Images" || r.Check == "Trust policies" || r.Check == "Hosted clusters" {
			t.Errorf("%+v", r)
		}
	}
}

func TestWhatStopsACreationIsAFailure(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Facts)
		check  string
		status Status
		words  string
	}{
		"credentials of another partition": {func(f *Facts) { f.AWS.Caller.Partition = "aws-cn" }, "Credentials", Failed, "are of the partition aws-cn, and region us-east-1 is in aws"},
		"a clock that is six minutes slow": {func(f *Facts) { f.AWS.Skew = 6 * time.Minute }, "Clock", Failed, "by 6m0s"},
		"a clock that is fast":             {func(f *Facts) { f.AWS.Skew = -time.Minute }, "Clock", Warning, "by 1m0s"},
		"a clock that is not known":        {func(f *Facts) { f.AWS.Errors["skew"] = errors.New("no time") }, "Clock", Unknown, "no time"},
		"too few addresses":                {func(f *Facts) { f.AWS.Addresses = 4 }, "Elastic IP addresses", Failed, "4 of 5 are in use"},
		"an exhausted quota":               {func(f *Facts) { f.AWS.Quotas[0].Used = 5 }, "VPCs", Failed, "5 of 5 are in use; the cluster needs 1"},
		"a release that does not exist": {func(f *Facts) {
			f.AWS.Cluster.Release.Err = &release.Error{Kind: release.NotFound, Image: "example.com/release:1", Detail: "404"}
		}, "Release image", Failed, "example.com/release:1 does not exist"},
		"a registry that this machine does not reach": {func(f *Facts) {
			f.AWS.Cluster.Release.Err = &release.Error{Kind: release.Unreachable, Image: "example.com/release:1", Detail: "timeout"}
		}, "Release image", Unknown, "could not be read"},
		"a release without a machine image for the region": {func(f *Facts) {
			f.AWS.Cluster.Release.Found.BootImages = nil
			f.AWS.machines[0].AMI = ""
		}, "Release image", Failed, "lacks a machine image for amd64 in us-east-1"},
		"an instance type that no zone has":       {func(f *Facts) { f.AWS.machines[0].Offered = nil }, "Instance type m5.large", Failed, "does not offer m5.large"},
		"an instance type that one zone lacks":    {func(f *Facts) { f.AWS.machines[0].Offered = []string{"us-east-1b"} }, "Instance type m5.large", Failed, "not offered in us-east-1c (use1-az2)"},
		"an instance type that may not be read":   {func(f *Facts) { f.AWS.machines[0].OfferedErr = errors.New("denied") }, "Instance type m5.large", Unknown, "denied"},
		"a machine image that does not exist":     {func(f *Facts) { f.AWS.machines[0].Image = nil }, "Machine image " + ami, Failed, "does not exist in region us-east-1"},
		"a machine image that is being copied":    {func(f *Facts) { f.AWS.machines[0].Image.State = "pending" }, "Machine image " + ami, Failed, "state pending"},
		"a machine image of another architecture": {func(f *Facts) { f.AWS.machines[0].Image.Architecture = "arm64" }, "Machine image " + ami, Failed, "is for arm64, and the machines are x86_64"},
		"a machine image without a root volume":   {func(f *Facts) { f.AWS.machines[0].Image.Volume = false }, "Machine image " + ami, Failed, "no root volume"},
		"no role for spot instances":              {func(f *Facts) { f.AWS.spotRole = false }, "Spot instances", Warning, "AWSServiceRoleForEC2Spot"},
		"calls that are denied": {func(f *Facts) {
			f.AWS.denied, f.AWS.refused = []string{"ec2:CreateVpc"}, []string{"ec2:CreateSubnet", "ec2:CreateVpc"}
		}, "Permissions", Failed, "may not call ec2:CreateSubnet, ec2:CreateVpc"},
		"a simulation that is not allowed": {func(f *Facts) { f.AWS.Errors["simulation"] = errors.New("AccessDenied") }, "Permissions", Unknown, "AccessDenied"},
		"an installation without operator": {func(f *Facts) { f.Operator.Status.AvailableReplicas = 0 }, "Operator", Warning, "no replica"},
	} {
		f := planned()
		c.change(f)
		var problems []Result
		for _, r := range Run(f) {
			if r.Status != Passed {
				problems = append(problems, r)
			}
		}
		if len(problems) != 1 || strings.TrimSuffix(problems[0].Check, " in 222222222222, us-east-1") != c.check || problems[0].Status != c.status || !strings.Contains(problems[0].Message, c.words) || problems[0].Action == "" {
			t.Errorf("%s: %+v", name, problems)
		}
	}
}

// The resources of an interrupted creation are in use, and are not needed twice.
func TestQuotasAreNotCountedTwice(t *testing.T) {
	f := planned()
	f.AWS.Cluster.Continued = true
	f.AWS.Addresses, f.AWS.Quotas[0].Used = 5, 5
	for _, r := range Run(f) {
		if r.Status != Passed {
			t.Errorf("%+v", r)
		}
	}
}
