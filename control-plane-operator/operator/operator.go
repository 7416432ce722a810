// Package operator puts the control-plane-operator together: its manager, its
// identity, its sessions with AWS, its controllers.
package operator

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/aws/smithy-go/middleware"
	routev1 "github.com/openshift/api/route/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	certificatesv1alpha1 "github.com/hosted-control-planes/hypershift/api/certificates/v1alpha1"
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/certificates"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/awsidentity"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/awsprivatelink"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/certificaterevocation"
	componentscontroller "github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/components"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/defragmentation"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/encryption"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/etcdconnections"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/etcdvolumes"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/hostedapi"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/hostedclusterresources"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/hostedcontrolplane"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/imageregistrybucket"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/ingressrecords"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/kmshealth"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/nodejoin"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/publicnames"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/routerconfig"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/signingkeys"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controllers/workersecuritygroup"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/joinrefusals"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/metrics"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/awsx/instance"
	"github.com/hosted-control-planes/hypershift/internal/awsx/kmskey"
	"github.com/hosted-control-planes/hypershift/internal/events"
	"github.com/hosted-control-planes/hypershift/internal/kubescheme"
	"github.com/hosted-control-planes/hypershift/internal/leader"
	"github.com/hosted-control-planes/hypershift/internal/metricstls"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/profiling"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/internal/routes"
	"github.com/hosted-control-planes/hypershift/internal/tokensigner"
)

// An Operator is a manager to which controllers are added.
type Operator struct {
	ctrl.Manager
	options      Options
	signer       *tokensigner.Signer
	sessions     *identity.Sessions
	aws          []func(*middleware.Stack) error
	releases     release.Resolver
	certificates *certificates.Certificates
	// status is the one writer of the status of the HostedControlPlane.
	status *controlplanestatus.Store
	// refusals has why certificate requests of machines are not approved.
	refusals joinrefusals.Refusals
}

// serve sets the manager's servers and their addresses.
func serve(manager *ctrl.Options, opts Options) {
	manager.Metrics, manager.HealthProbeBindAddress = metricsOptions(opts), opts.HealthAddr
	if opts.Profiling {
		manager.PprofBindAddress = profiling.Address
	}
}

// metricsOptions admit clients with a certificate of the authority that the
// hypershift-operator names. To review tokens takes rights in the whole management
// cluster, which this operator does not have.
func metricsOptions(opts Options) server.Options {
	return server.Options{
		BindAddress: opts.MetricsAddr, SecureServing: true, TLSOpts: []func(*tls.Config){metricstls.SelfSigned, metricstls.SignedBy(opts.MetricsClientCA)},
	}
}

// New returns an operator without controllers.
func New(cfg *rest.Config, opts Options, deps Dependencies) (*Operator, error) {
	manager := deps.Manager
	manager.Scheme = newScheme()
	manager.Cache = cache.Options{DefaultNamespaces: map[string]cache.Config{opts.Namespace: {}}, DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{&clusterv1.Machine{}: {Transform: nodejoin.Trim}}}
	serve(&manager, opts)
	if opts.LeaderElect {
		lease := leader.Lease{Namespace: opts.Namespace, Name: names.ControlPlaneOperator + "-leader-elect", Timing: leader.Many}
		if err := lease.Require(&manager, cfg); err != nil {
			return nil, err
		}
	}
	mgr, err := ctrl.NewManager(cfg, manager)
	if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	signer := &tokensigner.Signer{Client: mgr.GetAPIReader(), Namespace: opts.Namespace, Clock: clock.RealClock{}}
	o := &Operator{Manager: mgr, options: opts, aws: deps.AWS, signer: signer, status: controlplanestatus.New(mgr.GetClient(), mgr.GetAPIReader()), releases: deps.Releases, sessions: identity.New(identity.Options{
		Name: names.ControlPlaneOperator, Token: signer.Token, Subject: names.ControlPlaneOperatorSubject, Clock: clock.RealClock{}, Middleware: deps.AWS,
	})}
	o.certificates = certificates.New(certificates.Options{
		Client: o.GetClient(), Reader: o.GetAPIReader(), Scheme: o.GetScheme(), Recorder: o.GetEventRecorder(names.ControlPlaneOperator), Clock: clock.RealClock{},
	})
	return o, errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("ping", healthz.Ping))
}

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(kubescheme.AddToScheme(s))
	utilruntime.Must(hyperv1.AddToScheme(s))
	utilruntime.Must(certificatesv1alpha1.AddToScheme(s))
	utilruntime.Must(routev1.Install(s))
	utilruntime.Must(clusterv1.AddToScheme(s))
	return s
}

// GetEventRecorder returns a recorder that loses no event because of its length.
func (o *Operator) GetEventRecorder(name string) recorder.EventRecorder {
	return events.Bounded(o.Manager.GetEventRecorder(name))
}

// AddControllers adds them all. They run whatever the cluster is like, so that
// a change of it finds them.
func (o *Operator) AddControllers() error {
	return errors.Join(o.addMetrics(), o.addControlPlane(), o.addComponents(), o.addRouterConfig(), o.addEtcdConnections(), o.addEtcdVolumes(), o.addDefragmentation(), o.addHostedAPI(), o.addHostedClusterResources(), o.addPrivateLink(), o.addWorkerSecurityGroup(), o.addIngressRecords(), o.addImageRegistryBucket(), o.addAWSIdentity(), o.addKMSHealth(), o.addPublicNames(), o.addEncryption(), o.addNodeJoin(), o.addCertificateRevocation(), o.addSigningKeys())
}

// addMetrics adds the metrics that a scrape derives from the cache.
func (o *Operator) addMetrics() error {
	return o.Add(metrics.New(metrics.Options{
		Cache: o.GetClient(), Namespace: o.options.Namespace, Certificates: o.certificates.Validities,
	}))
}

// addControlPlane adds the controller of the Services and Routes of the control plane.
func (o *Operator) addControlPlane() error {
	serves, err := routes.Served(o.GetRESTMapper())
	if err != nil {
		return err
	}
	return hostedcontrolplane.Setup(o, hostedcontrolplane.Options{
		Client: o.GetClient(), Status: o.status, Reader: o.GetAPIReader(), Scheme: o.GetScheme(), Clock: clock.RealClock{}, ServesRoutes: serves,
		LoadBalancers: o.options.LoadBalancers,
	})
}

// addComponents adds the controller of the workloads of the control plane.
func (o *Operator) addComponents() error {
	return componentscontroller.Setup(o, componentscontroller.Options{
		Client: o.GetClient(), Status: o.status, Reader: o.GetAPIReader(), Scheme: o.GetScheme(), Clock: clock.RealClock{},
		Releases: o.releases, Certificates: o.certificates, Components: components.ControlPlane, OperatorImage: o.options.Image,
		Egress: o.options.Egress,
	})
}

// addDefragmentation adds the controller that defragments the databases of etcd.
func (o *Operator) addDefragmentation() error {
	return defragmentation.Setup(o, defragmentation.Options{
		Client: o.GetClient(), Secrets: o.GetAPIReader(), Recorder: o.GetEventRecorder(names.ControlPlaneOperator), Clock: clock.RealClock{},
	})
}

// addEncryption adds the controller of the keys that encrypt Secrets in etcd.
func (o *Operator) addEncryption() error {
	return encryption.Setup(o, encryption.Options{Client: o.GetClient(), Status: o.status, Reader: o.GetAPIReader(), Clock: clock.RealClock{}})
}

// addRouterConfig adds the controller that triggers a resync of the router's configuration.
func (o *Operator) addRouterConfig() error {
	return routerconfig.Setup(o, routerconfig.Options{Client: o.GetClient()})
}

// addEtcdConnections adds the controller that refuses connections to a single etcd that is about to stop.
func (o *Operator) addEtcdConnections() error {
	return etcdconnections.Setup(o, etcdconnections.Options{Client: o.GetClient()})
}

// addEtcdVolumes adds the controller that replaces a member of etcd whose volume is lost.
func (o *Operator) addEtcdVolumes() error {
	return etcdvolumes.Setup(o, etcdvolumes.Options{
		Client: o.GetClient(), Reader: o.GetAPIReader(), Recorder: o.GetEventRecorder(names.ControlPlaneOperator), Clock: clock.RealClock{},
	})
}

// addHostedAPI adds the health checks of the hosted API server.
func (o *Operator) addHostedAPI() error {
	return hostedapi.Setup(o, hostedapi.Options{
		Client: o.GetClient(), Status: o.status, Reader: o.GetAPIReader(), Clock: clock.RealClock{},
		StartInterval: o.options.APIStartInterval, Interval: o.options.APIInterval, CheckPaths: o.options.CheckLoadBalancers, CorruptMembers: o.corruptMembers,
	})
}

func (o *Operator) corruptMembers(ctx context.Context, hcp *hyperv1.HostedControlPlane) ([]string, error) {
	api, err := etcd.Open(ctx, o.GetAPIReader(), hcp)
	if err != nil {
		return nil, err
	}
	defer api.Close() //nolint:errcheck // there are no more requests to send
	return etcd.CorruptMembers(ctx, api)
}

// hostedClusterInterval is how often the hosted cluster is compared with its desired state: often enough for changes that users make by
// accident.
const hostedClusterInterval = 10 * time.Minute

// addHostedClusterResources adds the controller of the objects inside the hosted cluster.
func (o *Operator) addHostedClusterResources() error {
	return hostedclusterresources.Setup(o, hostedclusterresources.Options{
		Client: o.GetClient(), Status: o.status, Reader: o.GetAPIReader(), Scheme: o.GetScheme(), Recorder: o.GetEventRecorder(names.ControlPlaneOperator), Clock: clock.RealClock{},
		Releases: o.releases, OperatorImage: o.options.Image, Interval: hostedClusterInterval, Refused: o.refusals.Set, Instances: o.karpenterInstances,
	})
}

// addNodeJoin adds the controller that reports why machines do not become nodes.
func (o *Operator) addNodeJoin() error {
	return nodejoin.Setup(o, nodejoin.Options{
		Client: o.GetClient(), Status: o.status, Clock: clock.RealClock{}, Instances: o.instances, KeyReady: o.signer.Ready, Refused: o.refusals.Of,
	})
}

// addCertificateRevocation adds the controller that revokes certificates for access in an emergency.
func (o *Operator) addCertificateRevocation() error {
	return certificaterevocation.Setup(o, certificaterevocation.Options{
		Client: o.GetClient(), Reader: o.GetAPIReader(), Scheme: o.GetScheme(), Recorder: o.GetEventRecorder(names.ControlPlaneOperator), Clock: clock.RealClock{},
	})
}

// addSigningKeys adds the controller that verifies the keys of service account tokens during a rotation.
func (o *Operator) addSigningKeys() error {
	next := &tokensigner.Signer{Client: o.GetAPIReader(), Namespace: o.options.Namespace, Clock: clock.RealClock{}, Key: names.NextServiceAccountPrivateKeyFile}
	sessions := identity.New(identity.Options{
		Name: names.ControlPlaneOperator, Token: next.Token, Subject: names.ControlPlaneOperatorSubject, Clock: clock.RealClock{}, Middleware: o.aws,
	})
	return signingkeys.Setup(o, signingkeys.Options{
		Client: o.GetClient(), Status: o.status, Reader: o.GetAPIReader(), Clock: clock.RealClock{},
		TakeRole: func(ctx context.Context, region, issuerURL, roleARN string) error {
			return sessions.TakeRole(ctx, identity.Target{Region: region, IssuerURL: issuerURL, RoleARN: roleARN})
		},
	})
}

// karpenterInstances describes instances with the role of Karpenter.
func (o *Operator) karpenterInstances(ctx context.Context, hcp *hyperv1.HostedControlPlane) (instance.DescribeAPI, error) {
	session, err := o.sessions.For(ctx, identity.Target{
		Region: hcp.Spec.Platform.AWS.Region, IssuerURL: hcp.Spec.IssuerURL, RoleARN: string(hcp.Spec.AutoNode.Karpenter().RoleARN), Subject: names.KarpenterSubject,
	})
	if err != nil {
		return nil, err
	}
	return awsx.EC2(session.Config), nil
}

// instances returns a client of EC2 with the role that creates the machines of a cluster.
func (o *Operator) instances(ctx context.Context, hcp *hyperv1.HostedControlPlane) (instance.API, error) {
	aws := hcp.Spec.Platform.AWS
	session, err := o.sessions.For(ctx, identity.Target{
		Region: aws.Region, IssuerURL: hcp.Spec.IssuerURL, RoleARN: string(aws.RolesRef.NodePoolManagementARN), Subject: names.CAPIProviderSubject,
	})
	if err != nil {
		return nil, err
	}
	return awsx.EC2(session.Config), nil
}

// addPrivateLink adds the customer's half of PrivateLink.
func (o *Operator) addPrivateLink() error {
	return awsprivatelink.Setup(o, awsprivatelink.Options{
		Client: o.GetClient(), Reader: o.GetAPIReader(), Scheme: o.GetScheme(), Recorder: o.GetEventRecorder(names.ControlPlaneOperator), Clock: clock.RealClock{},
		Sessions: o.sessions, KeyReady: o.signer.Ready, ResyncPeriod: o.options.ResyncPeriod,
	})
}

// addWorkerSecurityGroup adds the controller of the security group of the workers.
func (o *Operator) addWorkerSecurityGroup() error {
	return workersecuritygroup.Setup(o, workersecuritygroup.Options{
		Client: o.GetClient(), Status: o.status, Recorder: o.GetEventRecorder(names.ControlPlaneOperator), Clock: clock.RealClock{},
		Sessions: o.sessions, KeyReady: o.signer.Ready, ResyncPeriod: o.options.ResyncPeriod,
	})
}

// addIngressRecords adds the controller of the DNS records of applications.
func (o *Operator) addIngressRecords() error {
	return ingressrecords.Setup(o, ingressrecords.Options{
		Client: o.GetClient(), Status: o.status, Clock: clock.RealClock{}, Sessions: o.sessions, KeyReady: o.signer.Ready, ResyncPeriod: o.options.ResyncPeriod,
	})
}

// addImageRegistryBucket adds the controller of the bucket of the image registry.
func (o *Operator) addImageRegistryBucket() error {
	return imageregistrybucket.Setup(o, imageregistrybucket.Options{
		Client: o.GetClient(), Status: o.status, Clock: clock.RealClock{}, Sessions: o.sessions, KeyReady: o.signer.Ready, ResyncPeriod: o.options.ResyncPeriod,
	})
}

// addAWSIdentity adds the health check of the AWS roles.
func (o *Operator) addAWSIdentity() error {
	return awsidentity.Setup(o, awsidentity.Options{
		Client: o.GetClient(), Status: o.status, Clock: clock.RealClock{}, Sessions: o.sessions, KeyReady: o.signer.Ready, Interval: o.options.IdentityInterval,
		TakeRole: o.takeRole,
	})
}

// takeRole checks, by a call to STS, whether a role trusts a subject.
func (o *Operator) takeRole(ctx context.Context, region, issuerURL, roleARN, subject string) error {
	return o.sessions.TakeRole(ctx, identity.Target{Region: region, IssuerURL: issuerURL, RoleARN: roleARN, Subject: subject})
}

// addPublicNames adds the check of the host names in spec.services.
func (o *Operator) addPublicNames() error {
	return publicnames.Setup(o, publicnames.Options{Client: o.GetClient(), Status: o.status, Clock: clock.RealClock{}})
}

// addKMSHealth adds the health check of the KMS key for Secrets.
func (o *Operator) addKMSHealth() error {
	return kmshealth.Setup(o, kmshealth.Options{Client: o.GetClient(), Status: o.status, Clock: clock.RealClock{}, Keys: o.keys, KeyReady: o.signer.Ready})
}

// keys returns a client for a control plane's KMS key, with the identity of its plugin.
func (o *Operator) keys(ctx context.Context, hcp *hyperv1.HostedControlPlane) (kmskey.API, error) {
	key := kmshealth.Of(hcp)
	session, err := o.sessions.For(ctx, identity.Target{
		Region: key.Region, IssuerURL: hcp.Spec.IssuerURL, RoleARN: key.Auth.AWSKMSRoleARN, Subject: names.KMSSubject,
	})
	if err != nil {
		return nil, err
	}
	return kmskey.NewClient(session.Config), nil
}
