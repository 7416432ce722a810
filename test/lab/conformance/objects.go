package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A typical small cluster is an assumption: 10 namespaces with 3 applications each. An application consists of a Deployment, a Service and
// its EndpointSlice, two ConfigMaps (its configuration and its files), and two Secrets (its credentials, and a Helm release). Two of the
// applications need permissions: a ServiceAccount, a Role and a RoleBinding. The namespace contains a quota and a NetworkPolicy.
// Deployments have no replicas, because the objects are to load the control plane and not the workers. CRDs are not multiplied.
const namespacesPerCluster = 10

// typical are the objects in each namespace, in the order in which they are made. The quota is the last one: a namespace that has it is complete.
var typical = []struct {
	count int
	build func(metav1.ObjectMeta) client.Object
}{
	{6, configMap},
	{6, secret},
	{2, func(m metav1.ObjectMeta) client.Object { return &corev1.ServiceAccount{ObjectMeta: m} }},
	{2, role},
	{2, roleBinding},
	{3, service},
	{3, endpointSlice},
	{3, deployment},
	{1, networkPolicy},
	{1, quota},
}

const (
	configMapBytes = 2 << 10
	secretBytes    = 1 << 10
)

// objectsPerNamespace counts the namespace, too.
func objectsPerNamespace() int {
	n := 1
	for _, kind := range typical {
		n += kind.count
	}
	return n
}

func objectsPerCluster() int { return namespacesPerCluster * objectsPerNamespace() }

// objectsLabel is on all of these objects. Its value is the application's label.
const objectsLabel = "conformance.example.test/typical"

func selector(m metav1.ObjectMeta) map[string]string { return map[string]string{"app": m.Name} }

func configMap(m metav1.ObjectMeta) client.Object {
	const line = "some.setting.of.the.application=value\n"
	return &corev1.ConfigMap{ObjectMeta: m, Data: map[string]string{"application.properties": strings.Repeat(line, configMapBytes/len(line))}}
}

func secret(m metav1.ObjectMeta) client.Object {
	return &corev1.Secret{ObjectMeta: m, Data: map[string][]byte{"credentials": bytes.Repeat([]byte("0123456789abcdef"), secretBytes/16)}}
}

func role(m metav1.ObjectMeta) client.Object {
	return &rbacv1.Role{ObjectMeta: m, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get", "list", "watch"}},
	}}
}

func roleBinding(m metav1.ObjectMeta) client.Object {
	return &rbacv1.RoleBinding{
		ObjectMeta: m, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: m.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: m.Name, Namespace: m.Namespace}},
	}
}

// service has no selector: the EndpointSlice is one of ours, because there are no pods.
func service(m metav1.ObjectMeta) client.Object {
	return &corev1.Service{ObjectMeta: m, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}}}
}

func endpointSlice(m metav1.ObjectMeta) client.Object {
	m.Labels[discoveryv1.LabelServiceName] = m.Name
	m.Labels[discoveryv1.LabelManagedBy] = name
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: m, AddressType: discoveryv1.AddressTypeIPv4,
		Ports: []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To(int32(8080))}},
	}
	// Addresses for documentation: no pod has them.
	for _, address := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"} {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}})
	}
	return slice
}

func deployment(m metav1.ObjectMeta) client.Object {
	return &appsv1.Deployment{ObjectMeta: m, Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: selector(m)},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: selector(m)},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
		},
	}}
}

func networkPolicy(m metav1.ObjectMeta) client.Object {
	return &networkingv1.NetworkPolicy{ObjectMeta: m, Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: selector(m)}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
	}}
}

func quota(m metav1.ObjectMeta) client.Object {
	return &corev1.ResourceQuota{ObjectMeta: m, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
		corev1.ResourcePods: resource.MustParse("100"), corev1.ResourceConfigMaps: resource.MustParse("100"), corev1.ResourceSecrets: resource.MustParse("100"),
	}}}
}

// objectsNamespace is the name of a namespace with these objects.
func objectsNamespace(i int) string { return fmt.Sprintf("typical-%05d", i) }

// objectsMeta is the metadata of the i-th object of its kind.
func objectsMeta(namespace string, i int) metav1.ObjectMeta {
	app := fmt.Sprintf("app-%d", i)
	return metav1.ObjectMeta{Namespace: namespace, Name: app, Labels: map[string]string{objectsLabel: app}}
}

// writers is the number of namespaces that are filled at the same time.
const writers = 16

// makeObjects makes the objects of the clusters of -objects, unless an earlier run has kept them, and waits until the controllers of the hosted cluster
// have processed them. It returns how many there are. Without -objects, these are the objects of an earlier run.
func (r *run) makeObjects(ctx context.Context) (int, error) {
	c, err := r.hostedClient(ctx)
	if err != nil {
		return 0, fmt.Errorf("connecting to the hosted cluster: %w", err)
	}
	f := &filler{Client: c, namespaces: r.clusters * namespacesPerCluster}
	stop := func() {}
	if r.clusters > 0 {
		r.report("making %d objects in the hosted cluster, as in %d small clusters", r.clusters*objectsPerCluster(), r.clusters)
		stop = every(10*time.Second, func() { r.report("objects: %d were made", f.made.Load()) })
	}
	objects, err := f.fill(ctx)
	stop()
	if err != nil || objects == 0 {
		return objects, err
	}
	if err := r.until(ctx, f.processed); err != nil {
		return 0, fmt.Errorf("waiting for the controllers of the hosted cluster: %w", err)
	}
	r.report("the hosted cluster has %d objects of small clusters", objects)
	return objects, nil
}

// filler makes objects in a hosted cluster.
type filler struct {
	client.Client
	namespaces int
	made       atomic.Int64
}

// fill makes the objects that are missing, and returns how many there are.
func (f *filler) fill(ctx context.Context) (int, error) {
	complete, err := f.complete(ctx)
	if err != nil {
		return 0, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range f.namespaces {
		namespace := objectsNamespace(i)
		if complete[namespace] {
			continue
		}
		complete[namespace] = true
		group.Go(func() error { return f.fillNamespace(ctx, namespace) })
	}
	return len(complete) * objectsPerNamespace(), group.Wait()
}

// complete are the namespaces that have all objects.
func (f *filler) complete(ctx context.Context) (map[string]bool, error) {
	quotas := &corev1.ResourceQuotaList{}
	if err := f.List(ctx, quotas, client.HasLabels{objectsLabel}); err != nil {
		return nil, fmt.Errorf("listing namespaces with objects: %w", err)
	}
	complete := map[string]bool{}
	for _, q := range quotas.Items {
		complete[q.Namespace] = true
	}
	return complete, nil
}

func (f *filler) fillNamespace(ctx context.Context, namespace string) error {
	objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{objectsLabel: namespace}}}}
	for _, kind := range typical {
		for i := range kind.count {
			objects = append(objects, kind.build(objectsMeta(namespace, i)))
		}
	}
	for _, object := range objects {
		if err := f.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("making the objects of namespace %s: %T %s: %w", namespace, object, object.GetName(), err)
		}
		f.made.Add(1)
	}
	return nil
}

// processed returns an error until the controllers have processed the objects: each Deployment has its ReplicaSet, and each namespace its ServiceAccount.
// Otherwise the specs' own objects would wait in the queues of these controllers.
func (f *filler) processed(ctx context.Context) error {
	deployments, accounts, namespaces := &appsv1.DeploymentList{}, &corev1.ServiceAccountList{}, &corev1.NamespaceList{}
	if err := errors.Join(
		f.List(ctx, deployments, client.HasLabels{objectsLabel}),
		f.List(ctx, accounts, client.MatchingFields{"metadata.name": "default"}),
		f.List(ctx, namespaces),
	); err != nil {
		return err
	}
	for _, d := range deployments.Items {
		if d.Status.ObservedGeneration < d.Generation {
			return errors.New("there are Deployments that the controller has not processed")
		}
	}
	if len(accounts.Items) < len(namespaces.Items) {
		return errors.New("there are namespaces without the ServiceAccount default")
	}
	return nil
}
