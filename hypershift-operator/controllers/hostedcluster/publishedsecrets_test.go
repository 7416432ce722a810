package hostedcluster

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/publishedsecrets"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// updateControlPlaneStatus lets the control plane have a Secret for the user.
func (e *managementCluster) updateControlPlaneStatus(edit func(*hyperv1.HostedControlPlaneStatus)) {
	e.T.Helper()
	hcp := &hyperv1.HostedControlPlane{}
	if !e.Has(hcp, "demo") {
		e.T.Fatal("there is no control plane")
	}
	edit(&hcp.Status)
	e.UpdateStatus(hcp)
}

func TestTheUserGetsTheKubeconfig(t *testing.T) {
	e := newManagementCluster(t)
	e.Run(2)
	e.Create(secret(plane, "admin-kubeconfig", map[string]string{"value": "one"}), secret(plane, "first-user", map[string]string{"password": "two"}))
	e.updateControlPlaneStatus(func(st *hyperv1.HostedControlPlaneStatus) {
		st.KubeConfig = &hyperv1.KubeconfigSecretRef{Name: "admin-kubeconfig", Key: "value"}
		st.KubeadminPassword = &corev1.LocalObjectReference{Name: "first-user"}
	})
	e.Run(1)
	hc := e.hc()
	if hc.Status.KubeConfig == nil || hc.Status.KubeConfig.Name != "demo-admin-kubeconfig" || hc.Status.KubeadminPassword == nil || hc.Status.CustomKubeconfig != nil {
		t.Fatalf("the status names %v and %v", hc.Status.KubeConfig, hc.Status.KubeadminPassword)
	}
	mine := &corev1.Secret{ObjectMeta: testenv.In("clusters", "demo-admin-kubeconfig")}
	if !e.Exists(mine) || string(mine.Data["kubeconfig"]) != "one" || !metav1.IsControlledBy(mine, hc) {
		t.Errorf("got %+v", mine)
	}
	mine = &corev1.Secret{ObjectMeta: testenv.In("clusters", "demo-kubeadmin-password")}
	if !e.Exists(mine) || string(mine.Data["password"]) != "two" {
		t.Errorf("got %+v", mine)
	}
	e.updateControlPlaneStatus(func(st *hyperv1.HostedControlPlaneStatus) { st.KubeadminPassword = nil })
	e.Run(1)
	if hc = e.hc(); hc.Status.KubeadminPassword != nil || hc.Status.KubeConfig == nil {
		t.Errorf("the status names %v and %v", hc.Status.KubeConfig, hc.Status.KubeadminPassword)
	}
	if e.Exists(mine) {
		t.Error("a password that the control plane does not have any more is still there")
	}
}

// TestPublishedSecretsDoNotCollide tests a cluster a with a custom kubeconfig, and a cluster a-custom.
func TestPublishedSecretsDoNotCollide(t *testing.T) {
	cluster := func(name, uid, dns string, made time.Time) *hyperv1.HostedCluster {
		hc := privateCluster()
		hc.Name, hc.UID, hc.CreationTimestamp = name, types.UID(uid), metav1.NewTime(made)
		hc.Spec.KubeAPIServerDNSName = dns
		hc.Spec.InfraID, hc.Spec.IssuerURL = name, "https://documents.s3.us-east-1.amazonaws.com/"+name
		return hc
	}
	const secretName = "demo-custom-admin-kubeconfig"
	now := time.Now().Truncate(time.Second)
	for name, tc := range map[string]struct {
		dns    string
		owner  string // of the Secret, if there is one
		second time.Duration
		says   bool // of the cluster demo-custom
	}{
		"without a custom kubeconfig both can have theirs":     {second: time.Minute},
		"the younger one is refused":                           {dns: "api.custom.example.com", second: time.Minute, says: true},
		"the older one is not":                                 {dns: "api.custom.example.com", second: -time.Minute},
		"who has the Secret keeps it, although it is younger":  {dns: "api.custom.example.com", second: time.Minute, owner: "clusters/demo-custom"},
		"who has not is refused, although it is the older one": {dns: "api.custom.example.com", second: -time.Minute, owner: "clusters/demo", says: true},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEmptyManagementCluster(t)
			other := cluster("demo-custom", "2", "", now.Add(tc.second))
			e.Create(cluster("demo", "1", tc.dns, now), other)
			if tc.owner != "" {
				made := secret("clusters", secretName, map[string]string{"kubeconfig": "x"})
				made.Annotations = map[string]string{hyperv1.HostedClusterAnnotation: tc.owner}
				e.Create(made)
			}
			problems, err := publishedsecrets.Publisher{Client: e.Client(), Reader: e.Client()}.Conflicts(t.Context(), other)
			if err != nil || (len(problems) > 0) != tc.says {
				t.Errorf("problems %v, %v", problems, err)
			}
		})
	}
}
