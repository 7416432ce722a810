// Command awstrial creates, uses and deletes one hosted cluster in an AWS account, and writes a report with the time, the output and the
// cost of each step. The management cluster exists already: docs/eks.md.
//
//	contract     the cases of test/awscontract against AWS (with HYPERSHIFT_CONTRACT_BUCKET)
//	doctor       hypershift doctor --aws
//	create       hypershift create cluster aws --wait
//	resources    hypershift leftovers aws: the resources while the cluster runs, for the cost
//	workload     nodes, a Deployment, and a Job that reaches it by name
//	destroy      hypershift destroy cluster aws
//	leftovers    hypershift leftovers aws: nothing may be left
//
// destroy and leftovers run in any case: after a failed step, and after an interrupt. A second interrupt ends the command at once; the
// same command with -clean-up deletes the remaining resources then.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	o := options{environ: os.Environ(), progress: os.Stderr, now: time.Now}
	flag.StringVar(&o.hypershift, "hypershift", "bin/hypershift", "the command line")
	flag.StringVar(&o.name, "name", "trial", "name of the cluster")
	flag.StringVar(&o.baseDomain, "base-domain", "", "domain of an existing public hosted zone of the account (required, except with -endpoint-access Private)")
	flag.StringVar(&o.release, "release-image", "", "release image (required)")
	flag.StringVar(&o.zones, "zones", "", "zones, as names or ids (default: one that the management cluster serves)")
	flag.StringVar(&o.region, "region", "us-east-1", "region of the cluster; the prices are those of us-east-1")
	flag.StringVar(&o.access, "endpoint-access", "Private", "Public, PublicAndPrivate or Private")
	flag.StringVar(&o.instanceType, "instance-type", "m5.large", "instance type of the nodes")
	flag.StringVar(&o.workloadImage, "workload-image", "registry.k8s.io/e2e-test-images/agnhost:2.53", "image of the workload, with the program /agnhost")
	flag.StringVar(&o.guest, "cluster-kubeconfig", "", "kubeconfig of the hosted cluster (default: its own, through a port that the command line forwards)")
	flag.StringVar(&o.bed, "contract", "aws", "bed of the contract cases: aws, emulator or fake; none leaves them out")
	flag.StringVar(&o.directory, "output", "bin/aws-trial", "directory for report.md and report.json")
	flag.DurationVar(&o.timeout, "timeout", 40*time.Minute, "limit of the creation, and of the deletion")
	flag.BoolVar(&o.cleanUp, "clean-up", false, "only delete the cluster of an earlier run")
	flag.Parse()
	if o.release == "" && !o.cleanUp {
		fmt.Fprintln(os.Stderr, "-release-image is required")
		os.Exit(2)
	}
	if o.baseDomain == "" && o.access != "Private" {
		fmt.Fprintln(os.Stderr, "-base-domain is required with -endpoint-access "+o.access)
		os.Exit(2)
	}
	if o.bed == "aws" && !o.cleanUp && os.Getenv("HYPERSHIFT_CONTRACT_BUCKET") == "" {
		fmt.Fprintln(os.Stderr, "the contract cases need HYPERSHIFT_CONTRACT_BUCKET and prepared accounts: docs/tested.md. -contract none leaves them out")
		os.Exit(2)
	}
	var err error
	if o.directory, err = filepath.Abs(o.directory); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	report, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if !report.Passed() {
		os.Exit(1)
	}
}
