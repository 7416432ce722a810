package main

import (
	"context"
	_ "embed"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/fixture"
)

//go:embed cluster.yaml
var clusterManifest string

//go:embed nodepool.yaml
var nodePoolManifest string

// cluster is a private hosted cluster in a namespace of its user.
type cluster struct {
	name    string
	vpc     string
	subnets []string
}

// newCluster returns a cluster in a VPC that does not exist: the provider's half of PrivateLink only passes the ids on.
func newCluster(name string) *cluster {
	return &cluster{name: name, vpc: "vpc-0123456789abcdef0", subnets: []string{"subnet-0123456789abcdef0", "subnet-0123456789abcdef1"}}
}

func (c *cluster) userNamespace() string { return "user-" + c.name }
func (c *cluster) namespace() string     { return names.ControlPlaneNamespace(c.userNamespace(), c.name) }
func (c *cluster) issuer() string {
	return "https://" + bucket + ".s3.us-east-1.amazonaws.com/" + c.name + "-x7k2p"
}

// users are the objects of the cluster's user: two pools, each in a subnet.
func (c *cluster) users() ([]client.Object, error) {
	objects, err := c.fill(clusterManifest, map[string]string{"SUBNET_A": c.subnets[0]})
	if err != nil {
		return nil, err
	}
	for i, subnet := range c.subnets[:2] {
		pool, err := c.pool(poolName(i), subnet)
		if err != nil {
			return nil, err
		}
		objects = append(objects, pool)
	}
	return objects, nil
}

func (c *cluster) pool(name, subnet string) (client.Object, error) {
	objects, err := c.fill(nodePoolManifest, map[string]string{"POOL": name, "SUBNET": subnet})
	if err != nil {
		return nil, err
	}
	return objects[0], nil
}

func (c *cluster) fill(manifest string, variables map[string]string) ([]client.Object, error) {
	variables["NAME"], variables["USER_NAMESPACE"] = c.name, c.userNamespace()
	variables["ISSUER"], variables["VPC"] = c.issuer(), c.vpc
	text, err := fixture.Substitute(manifest, variables)
	if err != nil {
		return nil, err
	}
	decoded, err := fixture.Decode(text)
	if err != nil {
		return nil, err
	}
	var objects []client.Object
	for _, o := range decoded {
		objects = append(objects, o)
	}
	return objects, nil
}

// controlPlane are the objects of the HostedCluster controller that PrivateLink needs, for benchmarks without this
// controller.
func (c *cluster) controlPlane(privateKey []byte) ([]client.Object, error) {
	decoded, err := c.users()
	if err != nil {
		return nil, err
	}
	hc := &hyperv1.HostedCluster{}
	for _, o := range decoded {
		if o.GetObjectKind().GroupVersionKind().Kind == "HostedCluster" {
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
			if err != nil {
				return nil, err
			}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, hc); err != nil {
				return nil, err
			}
		}
	}
	return []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: c.namespace(), Labels: map[string]string{hyperv1.ControlPlaneNamespaceLabel: "true"},
			Annotations: map[string]string{hyperv1.HostedClusterAnnotation: c.userNamespace() + "/" + c.name},
		}},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace(), Name: names.ServiceAccountSigningKey},
			Data:       map[string][]byte{names.ServiceAccountPrivateKeyFile: privateKey},
		},
		&hyperv1.HostedControlPlane{
			ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace(), Name: c.name, Annotations: map[string]string{hyperv1.HostedClusterAnnotation: c.userNamespace() + "/" + c.name}},
			Spec: hyperv1.HostedControlPlaneSpec{
				ReleaseImage: hc.Spec.Release.Image, PullSecret: hc.Spec.PullSecret, IssuerURL: hc.Spec.IssuerURL, InfraID: hc.Spec.InfraID,
				Platform: hc.Spec.Platform, DNS: hc.Spec.DNS, Networking: hc.Spec.Networking, Services: hc.Spec.Services, Etcd: hc.Spec.Etcd,
				ControllerAvailabilityPolicy: hc.Spec.ControllerAvailabilityPolicy,
			},
		},
	}, nil
}

// all are the objects of the cluster before its load balancer exists.
func (c *cluster) all(privateKey []byte) ([]client.Object, error) {
	theirs, err := c.users()
	if err != nil {
		return nil, err
	}
	ours, err := c.controlPlane(privateKey)
	return append(theirs, ours...), err
}

// offered are the Services of a control plane for which AWSEndpointServices exist.
var offered = []string{names.PrivateRouter, names.KubeAPIServerPrivate}

func (c *cluster) service(name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace(), Name: name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 443}}},
	}
}

// serve creates a Service in the state in which the cloud controller leaves it.
func (c *cluster) serve(ctx context.Context, admin client.Client, name, host string) error {
	svc := c.service(name)
	if err := admin.Create(ctx, svc); err != nil {
		return err
	}
	svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: host}}
	return admin.Status().Update(ctx, svc)
}

// balancer is the name of the load balancer of a Service.
func (c *cluster) balancer(service string) string { return c.name + "-" + service[:4] }

func (c *cluster) endpointService(name string) *hyperv1.AWSEndpointService {
	return &hyperv1.AWSEndpointService{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace(), Name: name},
		Spec:       hyperv1.AWSEndpointServiceSpec{NetworkLoadBalancerName: c.balancer(name), ResourceTags: []hyperv1.AWSResourceTag{{Key: "team", Value: "example"}}},
	}
}
