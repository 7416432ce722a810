package operator

import (
	"errors"
	"flag"
	"fmt"
	"time"

	clientconfig "sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/metricstls"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/internal/version"
)

// Parse returns the Options of flags, and of the environment variables that set defaults of flags or options without a flag.
func Parse(name string, args, environ []string) (Options, error) {
	env := variables(environ)
	o := Options{Egress: awsx.Egress(environ), MetricsClientCA: []byte(env[metricstls.ClientCA])}
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	clientconfig.RegisterFlags(fs) // --kubeconfig
	o.Log.Bind(fs)
	showVersion := version.Bind(fs)
	fs.BoolVar(&o.Profiling, "profiling", false, "Serve profiles at http://127.0.0.1:6060/debug/pprof.")
	fs.StringVar(&o.Namespace, "namespace", env["POD_NAMESPACE"], "The namespace of the control plane. Nothing outside of it is read or written.")
	fs.StringVar(&o.MetricsAddr, "metrics-addr", ":8080", "The address of the metrics; 0 for none.")
	fs.StringVar(&o.HealthAddr, "health-addr", ":8081", "The address of /healthz and /readyz; 0 for none.")
	fs.BoolVar(&o.LeaderElect, "leader-elect", true, "Work only while holding the lease. Needed with several replicas.")
	fs.DurationVar(&o.ResyncPeriod, "resync-period", awsx.ResyncPeriod, "How often AWS is checked without a change of the objects.")
	fs.DurationVar(&o.IdentityInterval, "identity-interval", awsx.IdentityTTL, "How long a response of AWS proves that it accepts the roles. A value above resync-period makes separate checks unnecessary.")
	fs.DurationVar(&o.APIStartInterval, "api-start-interval", 10*time.Second, "How often to check a hosted API server that is not ready.")
	fs.DurationVar(&o.APIInterval, "api-interval", 30*time.Second, "How often to check a hosted API server that is ready.")
	fs.BoolVar(&o.CheckLoadBalancers, "check-load-balancers", true, "Check the hosted API server through the load balancers that users and nodes use.")
	o.LoadBalancers.Bind(fs)
	fs.StringVar(&o.Image, "image", env["CONTROL_PLANE_OPERATOR_IMAGE"], "The image of this program. Parts of the control plane use it too.")
	fs.Func("registry-overrides", "Where release images and their components are pulled: source=mirror,source=mirror.", func(text string) (err error) {
		o.RegistryOverrides, err = release.ParseOverrides(text)
		return err
	})
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if *showVersion {
		return o, version.ErrRequested
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	return o, o.check()
}

func (o Options) check() error {
	if o.Namespace == "" {
		return errors.New("--namespace is missing")
	}
	if o.Image == "" {
		return errors.New("--image is missing")
	}
	for flag, d := range map[string]time.Duration{
		"resync-period": o.ResyncPeriod, "identity-interval": o.IdentityInterval, "api-start-interval": o.APIStartInterval, "api-interval": o.APIInterval,
	} {
		if d <= 0 {
			return fmt.Errorf("--%s must be more than 0", flag)
		}
	}
	return nil
}
