package operator

import (
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"strings"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/sizes"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/internal/release/signature"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
	"github.com/hosted-control-planes/hypershift/internal/version"
)

// Values of --private-platform.
const (
	privateNone = "None"
	privateAWS  = "AWS"
)

// Parse returns the Options of flags, and of the environment variables that set defaults of flags or options without a flag.
func Parse(name string, args, environ []string) (Options, error) {
	env := variables(environ)
	o := Options{Region: env["AWS_REGION"], Egress: awsx.Egress(environ)}
	if env["POD_IP"] != "" {
		var err error
		if o.PodIP, err = netip.ParseAddr(env["POD_IP"]); err != nil {
			return o, fmt.Errorf("the environment variable POD_IP: %w", err)
		}
	}
	var privatePlatform string
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.StringVar(&o.Namespace, "namespace", "hypershift", "namespace of this operator")
	fs.StringVar(&o.MetricsAddr, "metrics-addr", ":8080", "address of the metrics")
	fs.StringVar(&o.HealthAddr, "health-addr", ":8081", "address of /healthz and /readyz")
	fs.StringVar(&o.AccessAddr, "access-addr", "0", "address of the API group access.hypershift.openshift.io, which an APIService has to announce; 0 for none")
	fs.BoolVar(&o.LeaderElect, "leader-elect", true, "work only while holding the lease hypershift-operator")
	o.Log.Bind(fs)
	showVersion := version.Bind(fs)
	fs.BoolVar(&o.Profiling, "profiling", false, "serve profiles at http://127.0.0.1:6060/debug/pprof, in this program and in the control-plane-operators")
	o.Limits.Bind(fs)
	fs.Func("control-plane-sizes", `requests of control planes by their number of nodes, in JSON: [{"nodes": 50, "requests": {"kube-apiserver.kube-apiserver": "cpu=1,memory=4Gi"}}]; default none`, func(text string) (err error) {
		o.Sizes, err = sizes.Parse(text)
		return err
	})
	fs.StringVar(&o.ControlPlaneOperatorImage, "control-plane-operator-image", env["IMAGE_CONTROL_PLANE_OPERATOR"], "image of the control-plane-operators")
	fs.StringVar(&o.ClusterAPIImage, "cluster-api-image", env["IMAGE_CLUSTER_API"], "image of Cluster API, which makes the machines of node pools")
	fs.StringVar(&o.CAPIProviderImage, "capi-provider-aws-image", env["IMAGE_AWS_CAPI_PROVIDER"], "image of Cluster API's AWS provider")
	fs.BoolVar(&o.AllowOperatorImageOverride, "allow-control-plane-operator-image-override", false, "let an annotation of a HostedCluster choose the image of its control-plane-operator; who may write it can then run anything with the permissions of one")
	fs.StringVar(&privatePlatform, "private-platform", privateNone, "AWS to make endpoint services for private clusters, in the region of AWS_REGION; else None")
	fs.StringVar(&o.OIDC.Bucket, "oidc-storage-provider-s3-bucket-name", "", "bucket for the OIDC documents of the clusters")
	fs.StringVar(&o.OIDC.Region, "oidc-storage-provider-s3-region", "", "region of that bucket")
	fs.StringVar(&o.OIDC.Credentials, "oidc-storage-provider-s3-credentials", "", "credentials file for that bucket; default as for all of AWS")
	fs.Func("registry-overrides", "where release images and their components are pulled: source=mirror,source=mirror, such as quay.io/example=mirror.example.com/quay", func(text string) (err error) {
		o.RegistryOverrides, err = release.ParseOverrides(text)
		return err
	})
	fs.Func("allowed-release-repositories", "registries and repositories that releases may come from, separated by commas, such as quay.io/example; default all", func(text string) (err error) {
		o.ReleasePolicy.Repositories, err = release.ParseRepositories(text)
		return err
	})
	fs.Func("release-signature-keys", "public keys in PEM, one of which must have signed a release with cosign; default none, and releases need no signature", func(text string) (err error) {
		o.ReleasePolicy.Keys, err = signature.ParseKeys([]byte(text))
		return err
	})
	fs.BoolVar(&o.LeaveStoppedNodes, "leave-stopped-nodes", true, "take a node of the management cluster out of service while its instance is stopped, so that the control planes on it start on other nodes at once")
	fs.BoolVar(&o.CheckLoadBalancers, "check-load-balancers", true, "have the control-plane-operators check that API servers answer by the load balancers that users and nodes take; false where the management cluster reaches no load balancer")
	o.LoadBalancers.Bind(fs)
	fs.BoolVar(&o.SharedRouter, "shared-router", false, "serve HostedClusters with annotation "+hyperv1.SharedRouterAnnotation+" by the router and the load balancers of this installation; needs --private-platform=AWS")
	fs.Func("shared-router-load-balancer-cidrs", "networks from which the load balancers of the shared router connect, comma-separated: those of the load balancers and, for targets that are instances, of the nodes; default all", func(text string) (err error) {
		o.SharedRouterSources, err = parseList(text, parseNetwork)
		return err
	})
	o.SharedRouterLimits = sharedrouter.DefaultLimits
	fs.IntVar(&o.SharedRouterLimits.PerCluster, "shared-router-connections-per-cluster", o.SharedRouterLimits.PerCluster, "how many connections one cluster can have in each pod of the shared router")
	fs.IntVar(&o.SharedRouterLimits.PerClient, "shared-router-connections-per-client", o.SharedRouterLimits.PerClient, "how many connections one public address can have in each pod of the shared router")
	fs.Func("management-api-endpoints", "public addresses of the API server of the management cluster, address or address:port, comma-separated; pods of control planes reach them only if they work with the management cluster", func(text string) (err error) {
		o.ManagementAPIEndpoints, err = parseList(text, parseEndpoint)
		return err
	})
	fs.Func("control-plane-egress-blocked-cidrs", "further networks that no pod of a control plane reaches, comma-separated, such as 10.0.0.0/8,fd00::/8; names are still resolved there", func(text string) (err error) {
		o.BlockedCIDRs, err = parseList(text, parseNetwork)
		return err
	})
	fs.DurationVar(&o.ResyncPeriod, "resync-period", awsx.ResyncPeriod, "how often to look at what no watch tells of, AWS included")
	fs.DurationVar(&o.PermissionsPeriod, "aws-permissions-check-period", awsx.PrincipalsTTL, "how often to check who may connect to an endpoint service")
	fs.DurationVar(&o.DocumentsPeriod, "oidc-check-period", awsx.OIDCDocumentsTTL, "how often to check published OIDC documents")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if *showVersion {
		return o, version.ErrRequested
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	switch privatePlatform {
	case privateNone:
	case privateAWS:
		o.PrivateAWS = true
	default:
		return o, fmt.Errorf("--private-platform is %q: use AWS or None", privatePlatform)
	}
	return o, o.check()
}

// parseList parses a comma-separated list.
func parseList[T any](text string, parse func(string) (T, error)) ([]T, error) {
	var list []T
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		value, err := parse(part)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	return list, nil
}

// parseEndpoint parses an address with or without a port, which is 443.
func parseEndpoint(text string) (netip.AddrPort, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return netip.AddrPortFrom(addr.Unmap(), 443), nil
	}
	endpoint, err := netip.ParseAddrPort(text)
	if err != nil || endpoint.Port() == 0 || endpoint.Addr().Zone() != "" {
		return endpoint, fmt.Errorf("%q is not an address: write 203.0.113.7, 203.0.113.7:6443 or [2001:db8::7]:6443; a NetworkPolicy has no names", text)
	}
	return netip.AddrPortFrom(endpoint.Addr().Unmap(), endpoint.Port()), nil
}

// parseNetwork parses a network as the API server accepts it as the exception of
// a rule about all addresses.
func parseNetwork(text string) (netip.Prefix, error) {
	network, err := netip.ParsePrefix(text)
	switch {
	case err != nil || network.Addr().Is4In6():
		return network, fmt.Errorf("%q is not a network: write 10.0.0.0/8 or fd00::/8", text)
	case network != network.Masked():
		return network, fmt.Errorf("%q has bits of a host: write %s", text, network.Masked())
	case network.Bits() == 0:
		return network, fmt.Errorf("%q is every address: a control plane must reach AWS and its nodes; name the networks that it must not reach", text)
	}
	return network, nil
}

func (o Options) check() error {
	if o.PrivateAWS && o.Region == "" {
		return errors.New("--private-platform=AWS needs the environment variable AWS_REGION: the region of the management cluster")
	}
	if o.SharedRouter && !o.PrivateAWS {
		return errors.New("--shared-router needs --private-platform=AWS: it serves clusters with PrivateLink")
	}
	if o.SharedRouterLimits.PerCluster <= 0 || o.SharedRouterLimits.PerClient <= 0 {
		return errors.New("--shared-router-connections-per-cluster and --shared-router-connections-per-client must be more than 0")
	}
	if err := o.Limits.Check(); err != nil {
		return err
	}
	if err := o.Sizes.Fit(o.Limits.Container.Max); err != nil {
		return fmt.Errorf("--control-plane-sizes: %w", err)
	}
	if (o.OIDC.Bucket == "") != (o.OIDC.Region == "") {
		return errors.New("--oidc-storage-provider-s3-bucket-name and --oidc-storage-provider-s3-region are needed together")
	}
	for flag, d := range map[string]time.Duration{"resync-period": o.ResyncPeriod, "aws-permissions-check-period": o.PermissionsPeriod, "oidc-check-period": o.DocumentsPeriod} {
		if d <= 0 {
			return fmt.Errorf("--%s must be more than 0", flag)
		}
	}
	return nil
}
