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
			want: []string{"updateService"},
		},
		"fields of AWS": {
			spec: `{"platform": {"type": "AWS", "aws": {"serviceEndpoints": [{"name": "ec2", "url": "https://a"}], "terminationHandlerQueueURL": "https://b"}}}`,
			want: []string{"platform.aws.serviceEndpoints", "platform.aws.terminationHandlerQueueURL"},
		},
		"networks and scaling": {
			spec: `{"networking": {"allocateNodeCIDRs": "Enabled"}, "autoscaling": {"scaling": "ScaleUpOnly"}, "autoNode": {}}`,
			want: []string{"autoscaling", "autoNode"},
		},
		"a limit of nodes is scaling too": {spec: `{"autoscaling": {"maxNodesTotal": 3}}`, want: []string{"autoscaling"}},
		"etcd from a snapshot, or of the user's": {
			spec: `{"etcd": {"managed": {"storage": {"restoreSnapshotURL": ["https://a"]}}, "unmanaged": {"endpoint": "https://a"}}}`,
		},
		"what the nodes have of a cluster": {
			spec: `{"sshKey": {"name": "a"}, "additionalTrustBundle": {"name": "b"}, "configuration": {"proxy": {"httpProxy": "http://c"}}}`,
		},
		"configuration": {
			spec: `{"configuration": {"proxy": {}, "scheduler": {}, "apiServer": {}, "authentication": {}, "featureGate": {},
				"image": {}, "ingress": {}, "oauth": {}, "operatorhub": {}}, "operatorConfiguration": {"ingressOperator": {}}}`,
			want: []string{"configuration.image", "configuration.ingress", "configuration.oauth", "configuration.operatorhub", "operatorConfiguration"},
		},
		"of the network, the range of node ports": {
			spec: `{"configuration": {"network": {"serviceNodePortRange": "30000-31000"}}}`,
		},
		"of the network, the rest": {
			spec: `{"configuration": {"network": {"networkType": "Other"}}}`, want: []string{"configuration.network"},
		},
		"what comes from Secrets and ConfigMaps": {
			spec: `{"auditWebhook": {"name": "b"}, "secretEncryption": {"type": "aescbc"}}`,
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
