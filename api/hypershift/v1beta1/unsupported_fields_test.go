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
		"defaults of the API server do not count": {
			spec: `{"autoscaling": {"scaling": "ScaleUpAndScaleDown"}, "capabilities": {}, "fips": false, "olmCatalogPlacement": "management",
				"etcd": {"managementType": "Managed", "managed": {"storage": {"type": "PersistentVolume", "persistentVolume": {"size": "8Gi"}}}}}`,
		},
		"empty sections do not count": {
			spec: `{"configuration": {}, "operatorConfiguration": {}, "monitoring": {}, "platform": {"type": "AWS"}}`,
		},
		"paths are in the order of the fields": {
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
		"networks, scaling and nodes on demand are supported": {
			spec: `{"networking": {"allocateNodeCIDRs": "Enabled"}, "autoscaling": {"scaling": "ScaleUpOnly", "maxNodesTotal": 3}, "autoNode": {}}`,
		},
		"Karpenter reads the queue of interruptions": {
			spec: `{"platform": {"type": "AWS", "aws": {"terminationHandlerQueueURL": "https://b"}}, "autoNode": {"provisionerConfig": {"name": "Karpenter", "karpenter": {"platform": "AWS", "aws": {"roleARN": "arn:aws:iam::1:role/a"}}}}}`,
		},
		"a network plugin that no release has": {
			spec: `{"networking": {"networkType": "OpenShiftSDN"}}`, want: []string{"networking.networkType OpenShiftSDN"},
		},
		"the pod network of the release divides the range of pods": {
			spec: `{"networking": {"networkType": "OVNKubernetes", "clusterNetwork": [{"cidr": "10.132.0.0/14", "hostPrefix": 23}]}}`,
		},
		"a plugin of the user for which nodes get ranges": {
			spec: `{"networking": {"networkType": "Other", "allocateNodeCIDRs": "Enabled", "clusterNetwork": [{"cidr": "10.132.0.0/14", "hostPrefix": 23}]}}`,
		},
		"ranges of nodes that nothing allocates": {
			spec: `{"networking": {"networkType": "Calico", "clusterNetwork": [{"cidr": "10.132.0.0/14", "hostPrefix": 23}]}}`,
			want: []string{"networking.clusterNetwork.hostPrefix"},
		},
		"etcd from a snapshot and unmanaged etcd are supported": {
			spec: `{"etcd": {"managed": {"storage": {"restoreSnapshotURL": ["https://a"]}}, "unmanaged": {"endpoint": "https://a"}}}`,
		},
		"cluster-wide node settings are supported": {
			spec: `{"sshKey": {"name": "a"}, "additionalTrustBundle": {"name": "b"}, "configuration": {"proxy": {"httpProxy": "http://c"}}}`,
		},
		"configuration": {
			spec: `{"configuration": {"proxy": {}, "scheduler": {}, "apiServer": {}, "authentication": {}, "featureGate": {},
				"image": {}, "ingress": {}, "oauth": {}, "operatorhub": {}}, "operatorConfiguration": {"ingressOperator": {}}}`,
			want: []string{"configuration.image", "configuration.ingress", "configuration.oauth", "configuration.operatorhub", "operatorConfiguration"},
		},
		"the range of node ports is supported": {
			spec: `{"configuration": {"network": {"serviceNodePortRange": "30000-31000"}}}`,
		},
		"other network settings are unsupported": {
			spec: `{"configuration": {"network": {"networkType": "Other"}}}`, want: []string{"configuration.network"},
		},
		"settings from Secrets and ConfigMaps are supported": {
			spec: `{"auditWebhook": {"name": "b"}, "secretEncryption": {"type": "aescbc"}}`,
		},
		"images and parts of the release": {
			spec: `{"olmCatalogPlacement": "guest", "capabilities": {"disabled": ["Insights"]},
				"monitoring": {"metricsForwarding": {"mode": "Forward"}}}`,
			want: []string{"olmCatalogPlacement", "capabilities", "monitoring"},
		},
		"node selection and labels of the control plane are supported": {spec: `{"nodeSelector": {"a": "b"}, "tolerations": [{"key": "a"}], "labels": {"a": "b"}}`},
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
	for _, field := range unsupportedFields {
		if !tried[field.path] {
			t.Errorf("no case sets %s", field.path)
		}
	}
}
