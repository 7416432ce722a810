package operator

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go/middleware"
	"github.com/go-logr/logr"
	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/config/rbac"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/fakerelease"
	"github.com/hosted-control-planes/hypershift/test/fixture"
)

const (
	region    = "us-east-1"
	provider  = "111111111111"
	customer  = "222222222222"
	namespace = "clusters-demo"
	infraID   = "demo-x"
	issuer    = "https://issuer.example.com/demo"
	payload   = "registry.example.com/release:1"
)

// world is a real API server, and AWS in memory.
type world struct {
	t       *testing.T
	admin   client.Client
	config  *rest.Config // as the operator
	cloud   *fakeaws.Cloud
	zones   []string
	vpc     string
	role    string
	subnets []string
	service string // the endpoint service
	writes  statusWrites
}

// statusWrites counts the writes of the status of the HostedControlPlane.
type statusWrites struct{ stored, conflicts atomic.Int32 }

func (s *statusWrites) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if err == nil && req.Method == http.MethodPatch && strings.HasSuffix(req.URL.Path, "/hostedcontrolplanes/demo/status") {
			switch resp.StatusCode {
			case http.StatusOK:
				s.stored.Add(1)
			case http.StatusConflict:
				s.conflicts.Add(1)
			}
		}
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// The operator connects a cluster and removes everything again, on a real API server, as a service account with the permissions of its Role
// and no more.
func TestTheRoleIsEnough(t *testing.T) {
	w := newWorld(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	o, err := New(w.config, Options{
		Namespace: namespace, MetricsAddr: "0", HealthAddr: "0", LeaderElect: true,
		ResyncPeriod: time.Minute, IdentityInterval: time.Minute, APIStartInterval: time.Second, APIInterval: time.Second,
		Image: "registry.example.com/control-plane-operator:1",
	}, Dependencies{
		AWS:      []func(*middleware.Stack) error{w.cloud.Install, fakeaws.NoBackoff},
		Releases: fakerelease.New(fakerelease.Kubernetes(payload, "1.36.3")),
	})
	w.must(err)
	w.must(o.AddControllers())
	go func() { done <- o.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("the operator ended with: %v", err)
		}
	})

	hcp := w.controlPlane()
	w.eventually("the cluster is connected", func() error {
		w.others()
		es := &hyperv1.AWSEndpointService{}
		if err := w.admin.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: names.PrivateRouter}, es); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(es.Status.Conditions, hyperv1.AWSEndpointAvailable) {
			return fmt.Errorf("%+v", es.Status)
		}
		return nil
	})
	w.eventually("the control plane says so", func() error {
		if err := w.admin.Get(t.Context(), client.ObjectKeyFromObject(hcp), hcp); err != nil {
			return err
		}
		for _, c := range []string{hyperv1.ValidHostedControlPlaneConfiguration, hyperv1.InfrastructureReady, hyperv1.ValidAWSIdentityProvider} {
			if !meta.IsStatusConditionTrue(hcp.Status.Conditions, c) {
				return fmt.Errorf("%s: %+v", c, meta.FindStatusCondition(hcp.Status.Conditions, c))
			}
		}
		return nil
	})
	w.eventually("Routes are admitted", func() error {
		route := &routev1.Route{}
		if err := w.admin.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "kube-apiserver-internal"}, route); err != nil {
			return err
		}
		if len(route.Status.Ingress) != 1 {
			return fmt.Errorf("%+v", route.Status)
		}
		return nil
	})

	w.eventually("the workers have a security group", func() error {
		if err := w.admin.Get(t.Context(), client.ObjectKeyFromObject(hcp), hcp); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(hcp.Status.Conditions, hyperv1.AWSDefaultSecurityGroupCreated) || hcp.Status.Platform == nil || hcp.Status.Platform.AWS.DefaultWorkerSecurityGroupID == "" {
			return fmt.Errorf("%+v, %+v", hcp.Status.Platform, meta.FindStatusCondition(hcp.Status.Conditions, hyperv1.AWSDefaultSecurityGroupCreated))
		}
		return nil
	})

	w.eventually("the pods of the control plane are asked for", func() error {
		for _, name := range []string{names.Etcd, names.KubeAPIServer, names.KubeControllerManager} {
			c := &hyperv1.ControlPlaneComponent{}
			if err := w.admin.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, c); err != nil || len(c.Status.Resources) == 0 {
				return fmt.Errorf("%s: %w, %+v", name, err, c.Status)
			}
		}
		deployments := &appsv1.DeploymentList{}
		if err := w.admin.List(t.Context(), deployments, client.InNamespace(namespace)); err != nil || len(deployments.Items) != 2 {
			return fmt.Errorf("%d Deployments, %w", len(deployments.Items), err)
		}
		return nil
	})
	w.strand()
	w.eventually("a pod without a volume says why", func() error {
		return w.says(names.Etcd, hyperv1.VolumeNotReadyReason, `etcd-0: volume claim data-etcd-0 gets no volume: storageclass.storage.k8s.io "fast" not found`)
	})

	w.publishAPI()
	w.eventually("the hosted API server is found and asked", func() error {
		if err := w.admin.Get(t.Context(), client.ObjectKeyFromObject(hcp), hcp); err != nil {
			return err
		}
		s := hcp.Status
		for _, c := range []string{hyperv1.KubeAPIServerAvailable, hyperv1.EtcdAvailable, hyperv1.HostedClusterAvailable} {
			if !meta.IsStatusConditionTrue(s.Conditions, c) {
				return fmt.Errorf("%s: %+v", c, meta.FindStatusCondition(s.Conditions, c))
			}
		}
		if !s.Ready || !s.Initialized || s.Initialization == nil || s.Version == "" || s.KubeConfig == nil {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})

	written, conflicts := w.writes.stored.Load(), w.writes.conflicts.Load()
	t.Logf("%d writes of the status of the HostedControlPlane, %d conflicts", written, conflicts)
	if conflicts > 0 { // nobody else writes it
		t.Errorf("%d conflicts in the status of the HostedControlPlane", conflicts)
	}

	w.must(w.admin.Delete(t.Context(), hcp))
	w.eventually("everything is gone", func() error {
		pods := &corev1.PodList{}
		if err := w.admin.List(t.Context(), pods, client.InNamespace(namespace)); err != nil || len(pods.Items) > 0 {
			return fmt.Errorf("%d Pods, %w", len(pods.Items), err)
		}
		left := &corev1.ServiceList{}
		if err := w.admin.List(t.Context(), left, client.InNamespace(namespace)); err != nil || len(left.Items) > 0 {
			return fmt.Errorf("%d Services, %w", len(left.Items), err)
		}
		if err := w.admin.Get(t.Context(), client.ObjectKeyFromObject(hcp), hcp); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("the control plane: %w %+v", err, hcp.Status.Conditions)
		}
		endpoints, err := awsx.EC2(w.cloud.Account(customer).Config(region, "admin")).DescribeVpcEndpoints(t.Context(), &ec2.DescribeVpcEndpointsInput{})
		if err != nil || len(endpoints.VpcEndpoints) > 0 {
			return fmt.Errorf("%d endpoints, %w", len(endpoints.VpcEndpoints), err)
		}
		groups, err := awsx.EC2(w.cloud.Account(customer).Config(region, "admin")).DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{})
		if err != nil || len(groups.SecurityGroups) > 1 { // each VPC has one
			return fmt.Errorf("%d security groups, %w", len(groups.SecurityGroups), err)
		}
		return nil
	})
}

func newWorld(t *testing.T) *world {
	ctrl.SetLogger(logr.Discard())
	fixture.Assets(t)
	crds, err := fixture.DefaultCRDs()
	if err != nil {
		t.Fatal(err)
	}
	b, err := fixture.Start(t.Context(), fixture.Options{CRDs: crds})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
	})
	w := &world{t: t, cloud: fakeaws.New(clock.RealClock{}).FailOn(t)}
	w.admin, err = client.New(b.Config, client.Options{Scheme: newScheme()})
	w.must(err)
	w.config = rest.CopyConfig(b.Config)
	w.config.Wrap(w.writes.wrap)
	w.config.Impersonate.UserName = "system:serviceaccount:" + namespace + ":" + names.ControlPlaneOperator
	w.cloud.SetDelays(fakeaws.Delays{EndpointPending: time.Second, EndpointDeleting: time.Second})
	w.seed()
	return w
}

// seed creates the objects of others before the operator starts.
func (w *world) seed() {
	mine, theirs := w.cloud.Account(provider), w.cloud.Account(customer)
	private, public, err := webidentity.GenerateKey()
	w.must(err)
	keys, err := webidentity.JWKS(public)
	w.must(err)
	theirs.AddIdentityProvider(fakeaws.IdentityProvider{Issuer: issuer, Audiences: []string{names.WebIdentityAudience}, JWKS: keys})
	w.role = theirs.AddRole(fakeaws.Role{Name: "demo-cpo", Trusts: []fakeaws.Trust{{Issuer: issuer}}})
	w.vpc = theirs.AddVPC(region, fakeaws.VPC{})
	w.zones = []string{mine.ZoneID("us-east-1a")}
	w.subnets = []string{theirs.AddSubnet(region, fakeaws.Subnet{VPC: w.vpc, Zone: theirs.ZoneName(region, w.zones[0])})}
	theirs.AddHostedZone(fakeaws.HostedZone{Name: names.LocalZone("demo"), VPCs: []fakeaws.ZoneVPC{{Region: region, ID: w.vpc}}})

	role := rbac.Role(names.ControlPlaneOperator)
	for _, obj := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.ServiceAccountSigningKey},
			Data:       map[string][]byte{names.ServiceAccountPrivateKeyFile: private},
		},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.PullSecret}},
		role,
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role.Name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: names.ControlPlaneOperator}},
		},
	} {
		w.must(w.admin.Create(w.t.Context(), obj))
	}
}

func (w *world) controlPlane() *hyperv1.HostedControlPlane {
	hcp := &hyperv1.HostedControlPlane{
		// The certificates are brought: by publishAPI.
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo", Annotations: map[string]string{hyperv1.DisablePKIReconciliationAnnotation: "true"}},
		Spec: hyperv1.HostedControlPlaneSpec{
			ReleaseImage: payload, InfraID: infraID, IssuerURL: issuer,
			PullSecret: corev1.LocalObjectReference{Name: "pull-secret"},
			Etcd:       hyperv1.EtcdSpec{ManagementType: hyperv1.Managed, Managed: &hyperv1.ManagedEtcdSpec{Storage: hyperv1.ManagedEtcdStorageSpec{Type: hyperv1.PersistentVolumeEtcdStorage}}},
			Platform: hyperv1.PlatformSpec{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSPlatformSpec{
				Region: region, EndpointAccess: hyperv1.Private, CloudProviderConfig: &hyperv1.AWSCloudProviderConfig{VPC: w.vpc},
				ResourceTags: []hyperv1.AWSResourceTag{{Key: "team", Value: "blue"}}, RolesRef: w.roles(),
			}},
			Networking: hyperv1.ClusterNetworking{
				NetworkType: hyperv1.Other, MachineNetwork: []hyperv1.MachineNetworkEntry{{CIDR: "10.0.0.0/16"}},
				ClusterNetwork: []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14"}}, ServiceNetwork: []hyperv1.ServiceNetworkEntry{{CIDR: "172.31.0.0/16"}},
			},
			Services: []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.APIServer, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{
				Type: hyperv1.Route, Route: &hyperv1.RoutePublishingStrategy{Hostname: "api.demo.example.com"}}}},
		},
	}
	w.must(w.admin.Create(w.t.Context(), hcp))
	return hcp
}

func (w *world) roles() hyperv1.AWSRolesRef {
	r := hyperv1.RoleARN(w.role)
	return hyperv1.AWSRolesRef{IngressARN: r, ImageRegistryARN: r, StorageARN: r, NetworkARN: r, KubeCloudControllerARN: r, NodePoolManagementARN: r, ControlPlaneOperatorARN: r}
}

// says expects a component to be unavailable, and to report it.
func (w *world) says(name, reason, message string) error {
	c := &hyperv1.ControlPlaneComponent{}
	if err := w.admin.Get(w.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, c); err != nil {
		return err
	}
	condition := meta.FindStatusCondition(c.Status.Conditions, hyperv1.ControlPlaneComponentAvailable)
	if condition == nil || condition.Status != metav1.ConditionFalse || condition.Reason != reason || !strings.Contains(condition.Message, message) {
		return fmt.Errorf("%s: %+v", name, condition)
	}
	return nil
}

// strand makes the pod of etcd as its StatefulSet would, on a cluster without its
// storage class.
func (w *world) strand() {
	ctx, meta := w.t.Context(), metav1.ObjectMeta{Namespace: namespace, Name: "data-etcd-0"}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: ptr.To("fast"),
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
	w.must(w.admin.Create(ctx, claim))
	w.must(w.admin.Create(ctx, &corev1.Event{
		ObjectMeta: meta, InvolvedObject: corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: namespace, Name: claim.Name, UID: claim.UID},
		Type: corev1.EventTypeWarning, Reason: "ProvisioningFailed", Message: `storageclass.storage.k8s.io "fast" not found`,
	}))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "etcd-0", Labels: map[string]string{"app": names.Etcd, component.ComponentLabel: names.Etcd}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "etcd", Image: "etcd"}},
			Volumes:    []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name}}}},
		},
	}
	w.must(w.admin.Create(ctx, pod))
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		Message: "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
	}}
	w.must(w.admin.Status().Update(ctx, pod))
}

// publishAPI gives out a real API server for the hosted one: our own.
func (w *world) publishAPI() {
	text, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"hosted": {Server: w.config.Host, CertificateAuthorityData: w.config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"admin": {ClientCertificateData: w.config.CertData, ClientKeyData: w.config.KeyData, Token: w.config.BearerToken}},
		Contexts:       map[string]*clientcmdapi.Context{"hosted": {Cluster: "hosted", AuthInfo: "admin"}},
		CurrentContext: "hosted",
	})
	w.must(err)
	for name, key := range map[string]string{names.ClusterKubeconfig(infraID): names.ClusterKubeconfigFile, names.AdminKubeconfig: names.AdminKubeconfigFile} {
		w.must(w.admin.Create(w.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{key: text}}))
	}
}

// others acts for the cloud controller and the hypershift-operator.
func (w *world) others() {
	svc := &corev1.Service{}
	key := client.ObjectKey{Namespace: namespace, Name: names.PrivateRouter}
	if err := w.admin.Get(w.t.Context(), key, svc); err == nil && len(svc.Status.LoadBalancer.Ingress) == 0 {
		arn, host := w.cloud.Account(provider).AddLoadBalancer(region, fakeaws.LoadBalancer{Name: "private-router", Zones: []string{"us-east-1a"}, State: "active"})
		ho := awsx.EC2(w.cloud.Account(provider).Config(region, "hypershift-operator"))
		made, err := ho.CreateVpcEndpointServiceConfiguration(w.t.Context(), &ec2.CreateVpcEndpointServiceConfigurationInput{
			NetworkLoadBalancerArns: []string{arn}, AcceptanceRequired: ptr.To(false)})
		w.must(err)
		_, err = ho.ModifyVpcEndpointServicePermissions(w.t.Context(), &ec2.ModifyVpcEndpointServicePermissionsInput{
			ServiceId: made.ServiceConfiguration.ServiceId, AddAllowedPrincipals: []string{w.role}})
		w.must(err)
		w.service = aws.ToString(made.ServiceConfiguration.ServiceName)
		svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: host}}
		w.must(w.admin.Status().Update(w.t.Context(), svc))
	}
	es := &hyperv1.AWSEndpointService{}
	if err := w.admin.Get(w.t.Context(), key, es); err != nil || es.Status.EndpointServiceName != "" {
		return
	}
	p := reconcile.NewWriter(w.admin, w.admin, es, names.HypershiftOperator, func(es *hyperv1.AWSEndpointService) any {
		return hyperv1.AWSEndpointServiceStatus{EndpointServiceName: es.Status.EndpointServiceName, AvailabilityZoneIDs: es.Status.AvailabilityZoneIDs}
	})
	es.Spec.SubnetIDs = w.subnets
	if w.admin.Update(w.t.Context(), es) != nil {
		return // somebody was faster; the next round does it
	}
	es.Status.EndpointServiceName, es.Status.AvailabilityZoneIDs = w.service, w.zones
	_ = p.Write(w.t.Context())
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// eventually polls: the operator is a process of its own, on a real clock.
func (w *world) eventually(what string, ok func() error) {
	w.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(w.t.Context(), 100*time.Millisecond, 40*time.Second, true, func(context.Context) (bool, error) {
		last = ok()
		return last == nil, nil
	})
	if err != nil {
		w.t.Fatalf("%s: not so: %v", what, last)
	}
}
