package hostedcluster

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/config/rbac"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

func (s *scope) workersSet() apply.Set {
	// Who goes is stopped before it is forbidden everything.
	return apply.Set{Name: setWorkers, Namespace: s.controlPlane, Kinds: []client.ObjectList{
		&appsv1.DeploymentList{}, &corev1.ServiceAccountList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{}, &corev1.SecretList{},
	}}
}

// schemasSet has no kinds to prune by: all clusters share its name.
var schemasSet = apply.Set{Name: setWorkers}

// ensureWorkers runs Cluster API and its AWS provider beside the control plane
// for as long as the cluster has node pools. A node pool stays until its
// machines are gone, unless somebody has taken its finalizer away.
func (r *Reconciler) ensureWorkers(ctx context.Context, s *scope) error {
	if !s.workers || s.aws() == nil {
		if _, err := r.apply.Apply(ctx, s.workersSet()); err != nil {
			return err
		}
		return r.forbidSchemas(ctx, s)
	}
	if s.cluster == nil {
		// Its owner is written into what belongs to the Cluster in the next pass,
		// before Cluster API looks for it there; see clusterapi.Owner.
		return nil
	}
	core, err := r.componentImage(ctx, s, r.ClusterAPIImage, "cluster-api-image", names.ClusterAPI, "cluster-capi-controllers")
	if err != nil {
		return err
	}
	provider, err := r.componentImage(ctx, s, r.CAPIProviderImage, "capi-provider-aws-image", "cluster-api-provider-aws", "aws-cluster-api-controllers")
	if err != nil {
		return err
	}
	minter, err := r.operatorImage(s)
	if err != nil {
		return err
	}
	certificate, err := r.webhookCertificate(ctx, s)
	if err != nil {
		return err
	}
	if _, err := r.apply.Apply(ctx, schemasSet, desiredSchemas(s)); err != nil {
		return err
	}
	objs := append(account(s, names.ClusterAPI, rbac.ClusterAPIRole()), account(s, names.CAPIProvider, rbac.CAPIProviderRole())...)
	objs = append(objs, certificate,
		desiredDeployment(s, names.ClusterAPI, clusterAPIPod(s, core)),
		desiredDeployment(s, names.CAPIProvider, capiProviderPod(s, provider, minter, r.AWSEndpoints)))
	_, err = r.apply.Apply(ctx, s.workersSet(), objs...)
	return err
}

// hasWorkers looks for node pools, and for machines without one.
func (r *Reconciler) hasWorkers(ctx context.Context, s *scope) (bool, error) {
	if r.missing != "" || len(s.pools) > 0 {
		return len(s.pools) > 0, nil
	}
	left, err := r.machines(ctx, s)
	return len(left) > 0, err
}

// clusterAPIRuns says whether Cluster API is there, or about to be: while the
// cluster has node pools, and until its Deployment is gone. As long as it is, it
// wants the Cluster to own what belongs to it.
func (r *Reconciler) clusterAPIRuns(ctx context.Context, s *scope) (bool, error) {
	if r.missing != "" || s.workers {
		return r.missing == "", nil
	}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.controlPlane, Name: names.ClusterAPI}, &appsv1.Deployment{})
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("getting Deployment %s: %w", names.ClusterAPI, err)
	}
	return err == nil, nil
}

// desiredSchemas lets both programs read CustomResourceDefinitions, where the
// versions of kinds are: those are in no namespace. The garbage collector takes
// this away when the namespace is gone; until then they run, and read.
func desiredSchemas(s *scope) *rbacv1.ClusterRoleBinding {
	b := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{
			Name: schemasBinding(s), Annotations: s.ownerAnnotations(),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: s.controlPlane, UID: s.namespace.UID, Controller: ptr.To(true)}},
		},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "hypershift-cluster-api"},
	}
	for _, name := range []string{names.ClusterAPI, names.CAPIProvider} {
		b.Subjects = append(b.Subjects, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: s.controlPlane})
	}
	return b
}

func schemasBinding(s *scope) string { return "hypershift-cluster-api-" + s.controlPlane }

// forbidSchemas takes back what desiredSchemas gives, when it is needed no more.
func (r *Reconciler) forbidSchemas(ctx context.Context, s *scope) error {
	b := &rbacv1.ClusterRoleBinding{}
	err := r.Client.Get(ctx, client.ObjectKey{Name: schemasBinding(s)}, b)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("getting ClusterRoleBinding %s: %w", schemasBinding(s), err)
	}
	if err != nil || b.Annotations[hyperv1.HostedClusterAnnotation] != clusterKey(s.hc) {
		return nil
	}
	return r.delete(ctx, b)
}
