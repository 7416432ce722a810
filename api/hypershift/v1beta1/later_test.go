package v1beta1

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNotActedOn(t *testing.T) {
	tried := map[string]bool{}
	for name, c := range map[string]struct {
		spec string
		want []string
	}{
		"a cluster as the API server fills it in asks for nothing special": {
			spec: `{"autoscaling": {"scaling": "ScaleUpAndScaleDown"}, "capabilities": {}, "fips": false, "olmCatalogPlacement": "management",
				"etcd": {"managementType": "Managed", "managed": {"storage": {"type": "PersistentVolume", "persistentVolume": {"size": "8Gi"}}}}}`,
		},
		"empty sections ask for nothing": {
			spec: `{"configuration": {}, "operatorConfiguration": {}, "monitoring": {}, "platform": {"type": "AWS"}}`,
		},
		"paths come in the order of the fields": {
			spec: `{"monitoring": {"metricsForwarding": {"mode": "Forward"}}, "fips": true, "channel": "stable"}`,
			want: []string{"channel", "fips", "monitoring"},
		},
		"releases and updates": {
			spec: `{"controlPlaneRelease": {"image": "a"}, "updateService": "https://a", "kubeAPIServerDNSName": "api.example.com"}`,
			want: []string{"controlPlaneRelease", "updateService", "kubeAPIServerDNSName"},
		},
		"fields of AWS": {
			spec: `{"platform": {"type": "AWS", "aws": {"serviceEndpoints": [{"name": "ec2", "url": "https://a"}], "terminationHandlerQueueURL": "https://b"}}}`,
			want: []string{"platform.aws.serviceEndpoints", "platform.aws.terminationHandlerQueueURL"},
		},
		"networks and scaling": {
			spec: `{"networking": {"allocateNodeCIDRs": "Enabled"}, "autoscaling": {"scaling": "ScaleUpOnly"}, "autoNode": {}}`,
			want: []string{"networking.allocateNodeCIDRs", "autoscaling", "autoNode"},
		},
		"a limit of nodes is scaling too": {spec: `{"autoscaling": {"maxNodesTotal": 3}}`, want: []string{"autoscaling"}},
		"etcd from a snapshot": {
			spec: `{"etcd": {"managed": {"storage": {"restoreSnapshotURL": ["https://a"]}}}}`,
			want: []string{"etcd.managed.storage.restoreSnapshotURL"},
		},
		"etcd of the user's": {spec: `{"etcd": {"unmanaged": {"endpoint": "https://a"}}}`, want: []string{"etcd.unmanaged"}},
		"what the nodes have of a cluster": {
			spec: `{"sshKey": {"name": "a"}, "additionalTrustBundle": {"name": "b"}, "configuration": {"proxy": {"httpProxy": "http://c"}}}`,
		},
		"configuration": {
			spec: `{"configuration": {"proxy": {}, "scheduler": {}}, "operatorConfiguration": {"ingressOperator": {}}}`,
			want: []string{"configuration", "operatorConfiguration"},
		},
		"what comes from Secrets and ConfigMaps": {
			spec: `{"auditWebhook": {"name": "b"}, "secretEncryption": {"type": "aescbc"}}`,
			want: []string{"auditWebhook", "secretEncryption"},
		},
		"images and parts of the release": {
			spec: `{"olmCatalogPlacement": "guest", "capabilities": {"disabled": ["Insights"]},
				"monitoring": {"metricsForwarding": {"mode": "Forward"}}}`,
			want: []string{"olmCatalogPlacement", "capabilities", "monitoring"},
		},
		"where the control plane runs, and as what": {spec: `{"nodeSelector": {"a": "b"}, "tolerations": [{"key": "a"}], "labels": {"a": "b"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			hc := &HostedCluster{}
			if err := json.Unmarshal([]byte(`{"spec": `+c.spec+`}`), hc); err != nil || hc.Unreadable() != "" {
				t.Fatal(err, hc.Unreadable())
			}
			if diff := cmp.Diff(c.want, hc.NotActedOn()); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
			for _, path := range c.want {
				tried[path] = true
			}
		})
	}
	for _, field := range later {
		if !tried[field.path] {
			t.Errorf("no case sets %s", field.path)
		}
	}
}
