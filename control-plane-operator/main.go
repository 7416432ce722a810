// The control-plane-operator reconciles the control plane of one hosted cluster, in the namespace in which it runs.
//
//	hostedcontrolplane   Services, Routes, hosts, conditions
//	components           certificates and workloads: etcd, API server, controllers, router
//	defragmentation      etcd databases
//	encryption           encryption keys of Secrets, changed in stages
//	etcdconnections      no new connections to an etcd that is about to stop
//	etcdvolumes          members of etcd whose volumes are lost
//	routerconfig         resync of the router's configuration
//	hostedapi            health and kubeconfigs of the hosted API server
//	hostedclusterresources  objects inside the hosted cluster: DNS, proxies, tunnels, permissions, certificate requests
//	certificaterevocation  CertificateRevocationRequests
//	signingkeys          keys of service account tokens: whether programs have loaded them, during a rotation
//	nodejoin             why machines do not become nodes
//	publicnames          whether the public names resolve
//	awsprivatelink       AWSEndpointServices and their VPC endpoints in the customer's account
//	ingressrecords       DNS records of applications in the customer's hosted zones
//	imageregistrybucket  bucket of the image registry in the customer's account
//	workersecuritygroup  security group of the workers in the customer's account
//	awsidentity          health of the AWS roles
//	kmshealth            health of the KMS key
//
// Two subcommands run in the pods of etcd, and one in the pod of a backup; the sidecars of other pods are in sidecar/.
//
//	etcd-member       configures the member: new cluster, join, or existing data
//	etcd-restore      downloads the snapshot to restore from
//	etcd-backup-take  takes the snapshot of a backup
//
// etcd-snapshot, a subcommand for administrators, writes such a snapshot.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/backup/take"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/member"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/restore"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd/snapshot"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/operator"
	"github.com/hosted-control-planes/hypershift/internal/logs"
	"github.com/hosted-control-planes/hypershift/internal/memory"
	"github.com/hosted-control-planes/hypershift/internal/version"
)

func main() {
	if len(os.Args) > 1 {
		if run, ok := subcommands[os.Args[1]]; ok {
			subcommand(os.Args[1], run, os.Args[2:])
			return
		}
	}
	opts, err := operator.Parse(os.Args[0], os.Args[1:], os.Environ())
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case errors.Is(err, version.ErrRequested):
		version.Print("control-plane-operator")
		return
	}
	if err == nil {
		logs.Use(opts.Log.Logger(os.Stderr))
		err = run(ctrl.SetupSignalHandler(), opts)
	}
	exit("control-plane-operator", err)
}

// exit ends the process if err is not nil.
func exit(name string, err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

// subcommands run instead of the operator.
var subcommands = map[string]func(context.Context, []string) error{
	member.Command:   decideMember,
	restore.Command:  fetchSnapshot,
	snapshot.Command: snapshot.Run,
	take.Command:     take.Run,
}

func subcommand(name string, run func(context.Context, []string) error, args []string) {
	ctrl.SetLogger(zap.New())
	exit(name, run(ctrl.LoggerInto(ctrl.SetupSignalHandler(), ctrl.Log), args))
}

// run starts the operator and returns when ctx ends or the manager fails.
func run(ctx context.Context, opts operator.Options) error {
	memory.LimitGarbage()
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the management cluster: %w", err)
	}
	o, err := operator.New(cfg, opts, operator.NewDependencies(opts))
	if err != nil {
		return err
	}
	if err := o.AddControllers(); err != nil {
		return err
	}
	return o.Start(ctx)
}
