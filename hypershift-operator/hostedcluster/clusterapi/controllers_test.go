package clusterapi

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/components/capiprovider"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/component/componenttest"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

func TestDesiredControllers(t *testing.T) {
	hc := &hyperv1.HostedCluster{}
	hc.Namespace, hc.Name = "clusters", "demo"
	plane := controlplane.NamespaceOf(hc)
	plain := &controlplane.Target{
		Namespace: plane, IssuerURL: "https://oidc.example.com/demo-x",
		Images: map[string]string{names.ClusterAPI: "registry/cluster-api:1", capiprovider.Image: "registry/cluster-api-provider-aws:1", controlplane.OperatorImage: "registry/control-plane-operator:1"},
		AWS:    &hyperv1.AWSPlatformSpec{Region: "us-east-1", RolesRef: hyperv1.AWSRolesRef{NodePoolManagementARN: "arn:aws:iam::222222222222:role/demo-nodes"}},
		Pods:   controlplane.PodSettings{PriorityClass: "hypershift-control-plane"},
	}
	configured := *plain
	configured.Egress = []corev1.EnvVar{{Name: "AWS_ENDPOINT_URL", Value: "http://aws.test"}}
	configured.Pods = controlplane.PodSettings{
		Labels:        map[string]hyperv1.LabelValue{"team": "a", "app": "mine", names.ManagementAccessLabel: "false"},
		NodeSelector:  map[string]hyperv1.LabelValue{"pool": "control"},
		Tolerations:   []corev1.Toleration{{Key: "control", Operator: corev1.TolerationOpExists}},
		PriorityClass: "chosen", Annotations: map[string]string{hyperv1.RestartDateAnnotation: "today"}, TrustBundle: true, MemoryFactor: 64,
	}
	for name, target := range map[string]*controlplane.Target{"plain": plain, "configured": &configured} {
		t.Run(name, func(t *testing.T) {
			objs, err := desiredControllers(target)
			if err != nil {
				t.Fatal(err)
			}
			componenttest.Objects(t, name, objs)
		})
	}
}
