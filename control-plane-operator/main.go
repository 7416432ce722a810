// The control-plane-operator drives the control plane of one hosted cluster,
// in the namespace that it runs in.
//
//	hostedcontrolplane  Services, Routes, hosts, conditions
//	awsprivatelink      AWSEndpointServices, and their endpoints in the customer's account
//	probe               whether AWS knows us
//
// As `control-plane-operator token-minter` it runs beside another program and
// does nothing but keep a token for that program.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/awsprivatelink"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/hostedcontrolplane"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/probe"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/identity"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/tokenminter"
	"github.com/hosted-control-planes/hypershift/internal/awsx/session"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

type options struct {
	namespace        string
	metricsAddr      string
	healthAddr       string
	leaderElect      bool
	resyncPeriod     time.Duration
	identityInterval time.Duration
	log              zap.Options
	// aws is empty but for what a test puts under the clients.
	aws session.Options
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == tokenminter.Command {
		mint(os.Args[2:])
		return
	}
	var o options
	flag.StringVar(&o.namespace, "namespace", os.Getenv("POD_NAMESPACE"), "The namespace of the control plane. Nothing outside of it is read or written.")
	flag.StringVar(&o.metricsAddr, "metrics-addr", ":8080", "The address of the metrics; 0 for none.")
	flag.StringVar(&o.healthAddr, "health-addr", ":8081", "The address of /healthz and /readyz; 0 for none.")
	flag.BoolVar(&o.leaderElect, "leader-elect", true, "Let one of several copies work.")
	flag.DurationVar(&o.resyncPeriod, "resync-period", 30*time.Minute, "How often AWS is looked at although nothing has changed here.")
	flag.DurationVar(&o.identityInterval, "identity-interval", 45*time.Minute, "How old an answer of AWS may be and still tell whether it knows us. Longer than the resync, which makes a question of its own unnecessary.")
	o.log.BindFlags(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&o.log)))
	if err := run(ctrl.SetupSignalHandler(), o); err != nil {
		ctrl.Log.Error(err, "Stopping")
		os.Exit(1)
	}
}

// mint keeps a token for a program beside us; nothing else of us runs then.
func mint(args []string) {
	ctrl.SetLogger(zap.New())
	minter, err := tokenminter.Parse(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, tokenminter.Command+":", err)
		os.Exit(1)
	}
	minter.Run(ctrl.LoggerInto(ctrl.SetupSignalHandler(), ctrl.Log))
}

func run(ctx context.Context, o options) error {
	if o.namespace == "" {
		return errors.New("--namespace is missing")
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the management cluster: %w", err)
	}
	return operate(ctx, config, o)
}

// operate runs the controllers until ctx ends.
func operate(ctx context.Context, config *rest.Config, o options) error {
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        newScheme(),
		Cache:                         cache.Options{DefaultNamespaces: map[string]cache.Config{o.namespace: {}}, DefaultTransform: cache.TransformStripManagedFields()},
		Metrics:                       metricsserver.Options{BindAddress: o.metricsAddr},
		HealthProbeBindAddress:        o.healthAddr,
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              names.ControlPlaneOperator + "-leader-elect",
		LeaderElectionNamespace:       o.namespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return err
	}
	if err := errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("ping", healthz.Ping), setup(mgr, o)); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func setup(mgr ctrl.Manager, o options) error {
	clk := clock.RealClock{}
	// The signing key is read past the cache: a cache would have to be allowed
	// to read every Secret of the namespace.
	signer := &identity.Signer{Client: mgr.GetAPIReader(), Namespace: o.namespace, Clock: clk}
	o.aws.Name, o.aws.Token, o.aws.Clock = names.ControlPlaneOperator, signer.Token, clk
	sessions := session.New(o.aws)
	return errors.Join(
		hostedcontrolplane.Setup(mgr, hostedcontrolplane.Options{Client: mgr.GetClient(), Events: mgr.GetAPIReader(), Scheme: mgr.GetScheme(), Clock: clk}),
		awsprivatelink.Setup(mgr, awsprivatelink.Options{
			Client: mgr.GetClient(), Scheme: mgr.GetScheme(), Recorder: mgr.GetEventRecorder(names.ControlPlaneOperator), Clock: clk,
			Sessions: sessions, KeyReady: signer.Ready, ResyncPeriod: o.resyncPeriod,
		}),
		probe.Setup(mgr, probe.Options{Client: mgr.GetClient(), Clock: clk, Sessions: sessions, KeyReady: signer.Ready, Interval: o.identityInterval}),
	)
}

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(hyperv1.AddToScheme(s))
	utilruntime.Must(routev1.Install(s))
	return s
}
