package hostedapi

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// ours are the conditions that this controller writes.
var ours = []string{hyperv1.KubeAPIServerAvailable, hyperv1.KubeAPIServerReachable, hyperv1.EtcdAvailable, hyperv1.EtcdSnapshotRestored}

// statusPart holds the status fields that this controller writes.
type statusPart struct {
	Ready          bool                                      `json:"ready"`
	Initialized    bool                                      `json:"initialized"`
	Initialization *hyperv1.HostedControlPlaneInitialization `json:"initialization,omitempty"`
	Version        string                                    `json:"version,omitempty"`
	KubeConfig     *hyperv1.KubeconfigSecretRef              `json:"kubeConfig,omitempty"`
	// CustomKubeconfig is the kubeconfig with the name that the user has chosen.
	CustomKubeconfig *hyperv1.KubeconfigSecretRef `json:"customKubeconfig,omitempty"`
}

func fields(hcp *hyperv1.HostedControlPlane) any {
	s := hcp.Status
	return statusPart{
		Ready: s.Ready, Initialized: s.Initialized, Initialization: s.Initialization, Version: s.Version,
		KubeConfig: s.KubeConfig, CustomKubeconfig: s.CustomKubeconfig,
	}
}

// summarize turns an answer into the status. Without an answer, or with an answer that has to be confirmed, the status stays as it is.
func summarize(s *scope, _ reconcile.Report, conditions *reconcile.Conditions) {
	if !s.complete {
		return
	}
	status, health := &s.hcp.Status, s.answer
	status.Ready = health.problem == nil
	status.Initialized = status.Initialized || status.Ready
	if status.Initialized {
		status.Initialization = &hyperv1.HostedControlPlaneInitialization{ControlPlaneInitialized: ptr.To(true)}
	}
	status.Version = cmp.Or(health.version, status.Version)
	status.KubeConfig = secretRef(health.kubeconfig.admin, names.AdminKubeconfig)
	status.CustomKubeconfig = secretRef(health.kubeconfig.custom, names.CustomAdminKubeconfig)
	if s.reachable != nil {
		conditions.Put(*s.reachable)
	} else {
		conditions.Remove(hyperv1.KubeAPIServerReachable)
	}
	all := []metav1.Condition{apiCondition(health), etcdCondition(health)}
	if c, ok := restoredCondition(s.hcp, health); ok {
		all = append(all, c)
	}
	for _, c := range all {
		conditions.Set(c.Type, c.Status, c.Reason, c.Message)
	}
}

// secretRef names a Secret with a kubeconfig that the user gets, if it is there.
func secretRef(exists bool, secret string) *hyperv1.KubeconfigSecretRef {
	if !exists {
		return nil
	}
	return &hyperv1.KubeconfigSecretRef{Name: secret, Key: names.AdminKubeconfigFile}
}

func apiCondition(health answer) metav1.Condition {
	c := metav1.Condition{Type: hyperv1.KubeAPIServerAvailable, Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason, Message: "the API server is ready"}
	if p := health.problem; p != nil {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, p.reason, p.message
		if p.reason == hyperv1.NotDeployedReason {
			c.Message = notDeployed(health.kubeconfig, "the API server")
		}
		if cause := cmp.Or(health.server, health.etcd); cause != nil {
			c.Reason, c.Message = cause.reason, c.Message+"; "+cause.message
		}
	}
	return c
}

// etcdCondition repeats the API server's check of its etcd.
func etcdCondition(health answer) metav1.Condition {
	c := metav1.Condition{Type: hyperv1.EtcdAvailable}
	checked, well := false, true
	for _, check := range []string{"etcd", "etcd-readiness"} {
		fine, named := health.checks[check]
		checked, well = checked || named, well && (fine || !named)
	}
	switch {
	case health.problem != nil && health.problem.reason == hyperv1.AsleepReason:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, hyperv1.AsleepReason, health.problem.message
	case health.problem != nil && health.problem.reason == hyperv1.NotDeployedReason:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, hyperv1.NotDeployedReason, notDeployed(health.kubeconfig, "etcd")
	case health.etcd != nil && (!checked || !well):
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, health.etcd.reason, health.etcd.message
	case !checked:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, hyperv1.StatusUnknownReason, "the API server does not report etcd health"
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
