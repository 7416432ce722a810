package components

import (
	"context"
	"fmt"

	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/hosted-control-planes/hypershift/api/certificates/v1alpha1"
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/certificates"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/cloudcontrollermanager"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/ebscsicontroller"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/publishing"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/certsecret"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// resolveHosts reads the API server's host from the status, the tunnel's host from its Service or Route, and the
// Services of all Routes. A host name that the user has chosen for a Route counts before the status has it: the
// certificate of the API server need not be issued twice.
func (r *Reconciler) resolveHosts(ctx context.Context, s *scope) error {
	endpoint := s.hcp.Status.ControlPlaneEndpoint
	s.api = target.Host{Name: endpoint.Host, Port: endpoint.Port}
	if api := hyperv1.PublishingOf(s.hcp.Spec.Services, hyperv1.APIServer); endpoint.Host == "" && api.Type == hyperv1.Route && api.Hostname() != "" {
		s.api = target.Host{Name: api.Hostname(), Port: publishing.RouterPort}
	}
	var err error
	// The certificate always has the internal name, so the public name counts as long as it exists.
	for _, path := range []hyperv1.AWSEndpointAccessType{hyperv1.Public, hyperv1.Private} {
		if s.konnectivity, err = publishing.Konnectivity(ctx, r.Client, s.hcp, path); err != nil {
			return err
		}
		if s.konnectivity.Name != "" {
			break
		}
	}
	routes := &routev1.RouteList{}
	if err := r.Client.List(ctx, routes, client.InNamespace(s.hcp.Namespace)); err != nil {
		return fmt.Errorf("listing Routes: %w", err)
	}
	s.routes, s.services = routes.Items, map[string]*corev1.Service{}
	wanted := []string{names.Router, names.PrivateRouter}
	for _, route := range routes.Items {
		wanted = append(wanted, route.Spec.To.Name)
	}
	for _, name := range wanted {
		service := &corev1.Service{}
		switch err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.hcp.Namespace, Name: name}, service); {
		case err == nil:
			s.services[name] = service
		case client.IgnoreNotFound(err) != nil:
			return fmt.Errorf("getting Service %s: %w", name, err)
		}
	}
	return nil
}

// oauthServer is the image of the OAuth server, which only OpenShift releases have.
const oauthServer = "oauth-server"

// ensureCertificates reconciles the certificates. After a write it waits for the cache: pods that started with fewer
// certificates would start twice.
func (r *Reconciler) ensureCertificates(ctx context.Context, s *scope) error {
	if s.paused {
		return nil
	}
	revocations := &certificatesv1alpha1.CertificateRevocationRequestList{}
	if err := r.Client.List(ctx, revocations, client.InNamespace(s.hcp.Namespace)); err != nil {
		return fmt.Errorf("listing CertificateRevocationRequests: %w", err)
	}
	requeueAfter, changed, err := r.Certificates.Ensure(ctx, s.hcp, certificates.Facts{
		API: s.api, Konnectivity: s.konnectivity,
		KubeadminPassword:  s.runs.Components[oauthServer] != "",
		MetricsServer:      s.expectsNodes && s.wanted.Components[names.MetricsServer] != "",
		Ingress:            s.expectsNodes && s.hcp.HasIngress() && s.wanted.Components[names.Traefik] != "",
		ImageRegistry:      s.expectsNodes && s.hcp.HasImageRegistry() && s.wanted.Components[names.ImageRegistry] != "",
		PodIdentityWebhook: s.hcp.Spec.Platform.AWS != nil && s.runs.Components[names.PodIdentityWebhook] != "",
		EBSCSIController:   ebscsicontroller.Wanted(s.hcp, s.expectsNodes) && s.runs.Components[names.EBSCSIDriverImage] != "",
		CloudController:    cloudcontrollermanager.Wanted(s.hcp, s.expectsNodes),
		Scheduler:          s.expectsNodes,
		Revocation:         certificates.RevocationIn(revocations.Items),
		RolledOut:          func(string) bool { return r.isRolledOut(ctx, s.hcp) },
	})
	if err != nil {
		return err
	}
	if requeueAfter > 0 {
		s.again = requeueAfter
	}
	if changed {
		return reconcile.Wait(0, hyperv1.WaitingForReason, "waiting for certificates")
	}
	s.certificatesExpire, err = r.Certificates.FirstExpiry(ctx, s.hcp)
	return err
}

// isRolledOut returns whether all pods run with the current certificates, the hosted cluster has its copies, and its nodes
// trust the next authority.
func (r *Reconciler) isRolledOut(ctx context.Context, hcp *hyperv1.HostedControlPlane) bool {
	list := &hyperv1.ControlPlaneComponentList{}
	if err := r.Client.List(ctx, list, client.InNamespace(hcp.Namespace)); err != nil || len(list.Items) == 0 {
		return false
	}
	for _, c := range list.Items {
		if !meta.IsStatusConditionTrue(c.Status.Conditions, hyperv1.ControlPlaneComponentRolloutComplete) {
			return false
		}
	}
	return meta.IsStatusConditionTrue(hcp.Status.Conditions, hyperv1.ConfigOperatorReconciliationSucceeded)
}

// gather reads the inputs of components. They are only read, so the cache does not copy them.
func (r *Reconciler) gather(ctx context.Context, s *scope) (err error) {
	if s.available, err = r.available(ctx, s.hcp); err != nil {
		return err
	}
	if s.hcp.Sleeps() {
		if err := r.gatherRemains(ctx, s); err != nil {
			return err
		}
	}
	s.secrets, s.configMaps = map[string]*corev1.Secret{}, map[string]*corev1.ConfigMap{}
	secrets, configMaps := &corev1.SecretList{}, &corev1.ConfigMapList{}
	for _, list := range []client.ObjectList{secrets, configMaps} {
		if err := r.Client.List(ctx, list, client.InNamespace(s.hcp.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("gathering %T: %w", list, err)
		}
	}
	for i := range secrets.Items {
		s.secrets[secrets.Items[i].Name] = &secrets.Items[i]
	}
	certsecret.Expand(s.secrets)
	for i := range configMaps.Items {
		s.configMaps[configMaps.Items[i].Name] = &configMaps.Items[i]
	}
	certsecret.ExpandBundles(s.configMaps)
	return nil
}

// resolveKubeletVerification enables the verification of kubelets at once if the cluster has no nodes, and
// otherwise as soon as all nodes have certificates. The status records it: a node with a certificate that becomes invalid must
// not disable the verification of other nodes.
func (r *Reconciler) resolveKubeletVerification(_ context.Context, s *scope) error {
	ca := s.configMaps[names.KubeletServingCA]
	if s.paused || ca == nil || ca.Data[pki.TrustKey] == "" {
		return nil // users who bring their certificates may have none for kubelets: keep the current setting
	}
	if !s.hasNodes || meta.IsStatusConditionTrue(s.hcp.Status.Conditions, hyperv1.KubeletServingCertificatesSigned) {
		s.hcp.Status.KubeletVerification = hyperv1.KubeletVerificationEnabled
	}
	return nil
}

// available returns the components with condition Available.
func (r *Reconciler) available(ctx context.Context, hcp *hyperv1.HostedControlPlane) ([]string, error) {
	list := &hyperv1.ControlPlaneComponentList{}
	if err := r.Client.List(ctx, list, client.InNamespace(hcp.Namespace)); err != nil {
		return nil, fmt.Errorf("listing components: %w", err)
	}
	var names []string
	for _, c := range list.Items {
		if meta.IsStatusConditionTrue(c.Status.Conditions, hyperv1.ControlPlaneComponentAvailable) {
			names = append(names, c.Name)
		}
	}
	return names, nil
}

// resolveNodes determines whether the cluster has nodes, and whether it expects any. The hypershift-operator runs Cluster API while
// there are node pools. Once they have run, the controllers for nodes stay: they may have left load balancers and volumes that only they
// delete.
func (r *Reconciler) resolveNodes(ctx context.Context, s *scope) error {
	s.hasNodes = ptr.Deref(s.hcp.Status.NodeCount, 0) > 0
	// Elsewhere than on AWS nodes join by themselves: nothing announces them.
	s.expectsNodes = s.hasNodes || s.hcp.Spec.Platform.AWS == nil || s.hcp.Spec.AutoNode.Karpenter() != nil
	for _, sign := range []struct {
		name string
		obj  client.Object
	}{
		{names.ClusterAPI, &appsv1.Deployment{}},
		{names.CloudControllerManager, &hyperv1.ControlPlaneComponent{}}, {names.EBSCSIController, &hyperv1.ControlPlaneComponent{}},
	} {
		if s.expectsNodes {
			return nil
		}
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.hcp.Namespace, Name: sign.name}, sign.obj)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("getting %T %s: %w", sign.obj, sign.name, err)
		}
		s.expectsNodes = err == nil
	}
	return nil
}
