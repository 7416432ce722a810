// The control-plane-operator reconciles the control plane of one hosted cluster, in the namespace in which it runs.
//
//	hostedcontrolplane   Services, Routes, hosts, conditions
//	components           certificates and workloads: etcd, API server, controllers, router
//	defragmentation      etcd databases
//	encryption           encryption keys of Secrets, changed in stages
//	routerconfig         resync of the router's configuration
//	hostedapi            health and kubeconfigs of the hosted API server
//	hostedclusterresources  objects inside the hosted cluster: DNS, proxy, konnectivity, RBAC, CSRs
//	awsprivatelink       AWSEndpointServices and their VPC endpoints in the customer's account
//	workersecuritygroup  security group of the workers in the customer's account
//	awsidentity          health of the AWS roles
//	kmshealth            health of the KMS key
//
// Two subcommands run in the pods of etcd; the sidecars of other pods are in sidecar/.
//
//	etcd-member    configures the member: new cluster, join, or existing data
//	etcd-restore   downloads the snapshot to restore from
//
// etcd-snapshot, a subcommand for administrators, writes such a snapshot.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/member"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/restore"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/snapshot"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/operator"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/logs"
	"github.com/hosted-control-planes/hypershift/internal/memory"
	"github.com/hosted-control-planes/hypershift/internal/metricstls"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

func main() {
	if len(os.Args) > 1 {
		if run, ok := subcommands[os.Args[1]]; ok {
			subcommand(os.Args[1], run, os.Args[2:])
			return
		}
	}
	var o operator.Options
	var log logs.Options
	flag.StringVar(&o.Namespace, "namespace", os.Getenv("POD_NAMESPACE"), "The namespace of the control plane. Nothing outside of it is read or written.")
	flag.StringVar(&o.MetricsAddr, "metrics-addr", ":8080", "The address of the metrics; 0 for none.")
	flag.StringVar(&o.HealthAddr, "health-addr", ":8081", "The address of /healthz and /readyz; 0 for none.")
	flag.BoolVar(&o.LeaderElect, "leader-elect", true, "Let one of several copies work.")
	flag.DurationVar(&o.ResyncPeriod, "resync-period", 30*time.Minute, "How often AWS is looked at although nothing has changed here.")
	flag.DurationVar(&o.IdentityInterval, "identity-interval", 45*time.Minute, "How old an answer of AWS may be and still tell whether it knows us. Longer than the resync, which makes a question of its own unnecessary.")
	flag.DurationVar(&o.APIStartInterval, "api-start-interval", 10*time.Second, "How often to ask a hosted API server that is not ready.")
	flag.DurationVar(&o.APIInterval, "api-interval", 30*time.Second, "How often to ask a hosted API server that is ready.")
	flag.BoolVar(&o.CheckLoadBalancers, "check-load-balancers", true, "Check that the hosted API server answers by the load balancers that users and nodes take.")
	flag.StringVar(&o.Image, "image", os.Getenv("CONTROL_PLANE_OPERATOR_IMAGE"), "The image that this program runs in. Parts of the control plane run in it too.")
	flag.Func("registry-overrides", "Where release images and their components are pulled: source=mirror,source=mirror.", func(text string) (err error) {
		o.RegistryOverrides, err = release.ParseOverrides(text)
		return err
	})
	log.Bind(flag.CommandLine)
	flag.Parse()
	logs.Use(log.Logger(os.Stderr))
	o.AWSEndpoints = awsx.Endpoints(os.Environ())
	o.MetricsClientCA = []byte(os.Getenv(metricstls.ClientCA))
	if err := run(ctrl.SetupSignalHandler(), o); err != nil {
		ctrl.Log.Error(err, "Stopping")
		os.Exit(1)
	}
}

// subcommands run instead of the operator.
var subcommands = map[string]func(context.Context, []string) error{
	member.Command:   decideMember,
	restore.Command:  fetchSnapshot,
	snapshot.Command: snapshot.Run,
}

func subcommand(name string, run func(context.Context, []string) error, args []string) {
	ctrl.SetLogger(zap.New())
	if err := run(ctrl.LoggerInto(ctrl.SetupSignalHandler(), ctrl.Log), args); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

// run starts the operator and returns when ctx ends or the manager fails.
func run(ctx context.Context, opts operator.Options) error {
	if err := check(opts); err != nil {
		return err
	}
	memory.LimitGarbage()
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the management cluster: %w", err)
	}
	o, err := operator.New(cfg, opts)
	if err != nil {
		return err
	}
	if err := o.AddControllers(); err != nil {
		return err
	}
	return o.Start(ctx)
}

func check(opts operator.Options) error {
	if opts.Namespace == "" {
		return errors.New("--namespace is missing")
	}
	if opts.Image == "" {
		return errors.New("--image is missing")
	}
	for flag, d := range map[string]time.Duration{
		"resync-period": opts.ResyncPeriod, "identity-interval": opts.IdentityInterval, "api-start-interval": opts.APIStartInterval, "api-interval": opts.APIInterval,
	} {
		if d <= 0 {
			return fmt.Errorf("--%s must be more than 0", flag)
		}
	}
	return nil
}
