package clusterapi

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/component/componenttest"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

func cluster() Cluster {
	hc := &hyperv1.HostedCluster{}
	hc.Namespace, hc.Name = "clusters", "demo"
	return Cluster{
		Plane: controlplane.NamespaceOf(hc), InfraID: "demo-x",
		AWS: &hyperv1.AWSPlatformSpec{Region: "us-east-1", RolesRef: hyperv1.AWSRolesRef{NodePoolManagementARN: "arn:aws:iam::222222222222:role/demo-nodes"}},
	}
}

func TestDesiredControllers(t *testing.T) {
	plain := Controllers{
		ClusterAPI: "registry/cluster-api:1", Provider: "registry/provider:1", TokenMinter: "registry/operator:1", IssuerURL: "https://oidc.example.com/demo-x",
		Pods: controlplane.PodSettings{PriorityClass: "hypershift-control-plane"},
	}
	configured := plain
	configured.AWSEndpoints = []corev1.EnvVar{{Name: "AWS_ENDPOINT_URL", Value: "http://aws.test"}}
	configured.Pods = controlplane.PodSettings{
		Labels:        map[string]hyperv1.LabelValue{"team": "a", "app": "mine", names.ManagementAccessLabel: "false"},
		NodeSelector:  map[string]hyperv1.LabelValue{"pool": "control"},
		Tolerations:   []corev1.Toleration{{Key: "control", Operator: corev1.TolerationOpExists}},
		PriorityClass: "chosen", Annotations: map[string]string{hyperv1.RestartDateAnnotation: "today"}, TrustBundle: true, MemoryFactor: 64,
	}
	for name, with := range map[string]Controllers{"plain": plain, "configured": configured} {
		t.Run(name, func(t *testing.T) {
			certificate := cluster().Plane.Secret(names.ClusterAPIWebhooks, corev1.SecretTypeTLS, map[string][]byte{corev1.TLSCertKey: []byte("certificate"), corev1.TLSPrivateKeyKey: []byte("key")})
			componenttest.Objects(t, name, desiredControllers(cluster(), with, certificate))
		})
	}
}
