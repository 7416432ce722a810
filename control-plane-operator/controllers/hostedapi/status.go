package hostedapi

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// statusPart is the part of the status that this controller writes.
type statusPart struct {
	Ready          bool                                      `json:"ready"`
	Initialized    bool                                      `json:"initialized"`
	Initialization *hyperv1.HostedControlPlaneInitialization `json:"initialization,omitempty"`
	Version        string                                    `json:"version,omitempty"`
	KubeConfig     *hyperv1.KubeconfigSecretRef              `json:"kubeConfig,omitempty"`
	// CustomKubeconfig is that with the name that the user has chosen.
	CustomKubeconfig *hyperv1.KubeconfigSecretRef `json:"customKubeconfig,omitempty"`
	Conditions       []metav1.Condition           `json:"conditions,omitempty"`
}

func ourStatus(hcp *hyperv1.HostedControlPlane) any {
	s := hcp.Status
	part := statusPart{
		Ready: s.Ready, Initialized: s.Initialized, Initialization: s.Initialization, Version: s.Version,
		KubeConfig: s.KubeConfig, CustomKubeconfig: s.CustomKubeconfig,
	}
	for _, t := range []string{hyperv1.KubeAPIServerAvailable, hyperv1.KubeAPIServerReachable, hyperv1.EtcdAvailable, hyperv1.EtcdSnapshotRestored} {
		if c := meta.FindStatusCondition(s.Conditions, t); c != nil {
			part.Conditions = append(part.Conditions, *c)
		}
	}
	return part
}

// summarize turns an answer into the status.
func (r *Reconciler) summarize(hcp *hyperv1.HostedControlPlane, said answer) {
	s := &hcp.Status
	s.Ready = said.problem == nil
	s.Initialized = s.Initialized || s.Ready
	if s.Initialized {
		s.Initialization = &hyperv1.HostedControlPlaneInitialization{ControlPlaneInitialized: ptr.To(true)}
	}
	s.Version = cmp.Or(said.version, s.Version)
	s.KubeConfig = secretRef(said.kubeconfig.admin, names.AdminKubeconfig)
	s.CustomKubeconfig = secretRef(said.kubeconfig.custom, names.CustomAdminKubeconfig)
	all := []metav1.Condition{apiCondition(said), etcdCondition(said)}
	if c, ok := restoredCondition(hcp, said); ok {
		all = append(all, c)
	}
	for _, c := range all {
		c.ObservedGeneration = hcp.Generation
		reconcile.SetCondition(&s.Conditions, c, r.Clock.Now())
	}
}

// secretRef names a Secret with a kubeconfig that the user gets, if it is there.
func secretRef(there bool, secret string) *hyperv1.KubeconfigSecretRef {
	if !there {
		return nil
	}
	return &hyperv1.KubeconfigSecretRef{Name: secret, Key: names.AdminKubeconfigFile}
}

func apiCondition(said answer) metav1.Condition {
	c := metav1.Condition{Type: hyperv1.KubeAPIServerAvailable, Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason, Message: "the API server is ready"}
	if p := said.problem; p != nil {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, p.reason, p.message
		if p.reason == hyperv1.NotDeployedReason {
			c.Message = notDeployed(said.kubeconfig, "the API server")
		}
		if cause := cmp.Or(said.server, said.etcd); cause != nil {
			c.Reason, c.Message = cause.reason, c.Message+"; "+cause.message
		}
	}
	return c
}

// etcdCondition repeats what the API server says of its etcd.
func etcdCondition(said answer) metav1.Condition {
	c := metav1.Condition{Type: hyperv1.EtcdAvailable}
	asked, well := false, true
	for _, check := range []string{"etcd", "etcd-readiness"} {
		fine, named := said.checks[check]
		asked, well = asked || named, well && (fine || !named)
	}
	switch {
	case said.problem != nil && said.problem.reason == hyperv1.NotDeployedReason:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, hyperv1.NotDeployedReason, notDeployed(said.kubeconfig, "etcd")
	case said.etcd != nil && (!asked || !well):
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, said.etcd.reason, said.etcd.message
	case !asked:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, hyperv1.StatusUnknownReason, "the API server, which alone knows, does not say"
	case !well:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, hyperv1.EtcdWaitingForQuorumReason, "the API server gets no answer from etcd"
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, hyperv1.EtcdQuorumAvailableReason, "the API server reads from etcd"
	}
	return c
}

func notDeployed(k *kubeconfig, what string) string {
	return what + " is not there yet: Secret " + k.secret + ", by which it is found, has not been written"
}
