package v1beta1

import (
	"encoding/json"
	"strings"
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
		"roles and architectures that nothing uses": {
			spec: `{"platform": {"type": "AWS", "aws": {"multiArch": true, "rolesRef": {"ingressARN": "a", "imageRegistryARN": "b", "networkARN": "c", "storageARN": "d"}}}}`,
			want: []string{"platform.aws.multiArch", "platform.aws.rolesRef.ingressARN", "platform.aws.rolesRef.imageRegistryARN", "platform.aws.rolesRef.networkARN"},
		},
		"a subnet that is not named, and nodes on demand elsewhere": {
			spec: `{"platform": {"type": "AWS", "aws": {"cloudProviderConfig": {"vpc": "a", "subnet": {"filters": [{"name": "a", "values": ["b"]}]}}}}, "autoNode": {"provisionerConfig": {"name": "Karpenter", "karpenter": {"platform": "None"}}}}`,
			want: []string{"platform.aws.cloudProviderConfig.subnet.filters", "autoNode"},
		},
		"zones, and not the domain of host names": {
			spec: `{"dns": {"baseDomain": "example.com", "baseDomainPrefix": "a", "publicZoneID": "Z1", "privateZoneID": "Z2"}}`, want: []string{"dns.publicZoneID", "dns.privateZoneID"},
		},
		"parts of the API server's configuration": {
			spec: `{"configuration": {"apiServer": {"encryption": {"type": "aescbc"}, "tlsAdherence": "StrictAllComponents", "tlsSecurityProfile": {"type": "Custom", "custom": {"groups": ["X25519"]}}}}}`,
			want: []string{"configuration.apiServer.encryption", "configuration.apiServer.tlsAdherence", "configuration.apiServer.tlsSecurityProfile.custom.groups"},
		},
		"Secrets in clear text are what there is without encryption": {spec: `{"configuration": {"apiServer": {"encryption": {"type": "identity"}}}}`},
		"parts of the authentication": {
			spec: `{"configuration": {"authentication": {"oauthMetadata": {"name": "a"}, "webhookTokenAuthenticators": [{"kubeConfig": {"name": "b"}}], "oidcProviders": [{"oidcClients": [{"clientID": "c"}]}]}}}`,
			want: []string{"configuration.authentication.oauthMetadata", "configuration.authentication.webhookTokenAuthenticators", "configuration.authentication.oidcProviders.oidcClients"},
		},
		"parts of scheduler and proxy": {
			spec: `{"configuration": {"proxy": {"readinessEndpoints": ["https://a"]}, "scheduler": {"policy": {"name": "a"}, "defaultNodeSelector": "a=b", "mastersSchedulable": true, "profile": "NoScoring"}}}`,
			want: []string{"configuration.proxy.readinessEndpoints", "configuration.scheduler.policy", "configuration.scheduler.defaultNodeSelector", "configuration.scheduler.mastersSchedulable"},
		},
		"sets of features are supported": {spec: `{"configuration": {"featureGate": {"featureSet": "TechPreviewNoUpgrade"}}}`},
		"sets of metrics":                {spec: `{"monitoring": {"metricsSet": "All"}}`, want: []string{"monitoring"}},
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
			want: []string{"configuration.image", "configuration.ingress", "configuration.oauth", "configuration.operatorhub", "operatorConfiguration.ingressOperator"},
		},
		"operators that only OpenShift has": {
			spec: `{"operatorConfiguration": {"clusterVersionOperator": {}, "clusterNetworkOperator": {}}}`,
			want: []string{"operatorConfiguration.clusterVersionOperator", "operatorConfiguration.clusterNetworkOperator"},
		},
		"a cluster with an ingress controller has its fields": {
			spec: `{"capabilities": {"enabled": ["Ingress"]}, "dns": {"baseDomain": "example.com", "publicZoneID": "Z1", "privateZoneID": "Z2"},
				"platform": {"type": "AWS", "aws": {"rolesRef": {"ingressARN": "a"}}}, "configuration": {"ingress": {"domain": "shop.example.com"}},
				"operatorConfiguration": {"ingressOperator": {"endpointPublishingStrategy": {"type": "LoadBalancerService", "loadBalancer": {"scope": "Internal",
					"providerParameters": {"type": "AWS", "aws": {"type": "NLB"}}}}}}}`,
		},
		"settings of the ingress controller that only OpenShift has": {
			spec: `{"capabilities": {"enabled": ["Ingress"]}, "configuration": {"ingress": {"domain": "shop.example.com", "appsDomain": "other.example.com"}},
				"operatorConfiguration": {"ingressOperator": {"endpointPublishingStrategy": {"type": "HostNetwork", "loadBalancer": {"scope": "Internal",
					"providerParameters": {"type": "AWS", "aws": {"type": "Classic"}}}}}}}`,
			want: []string{"configuration.ingress", "operatorConfiguration.ingressOperator.endpointPublishingStrategy HostNetwork",
				"operatorConfiguration.ingressOperator.endpointPublishingStrategy.loadBalancer.providerParameters"},
		},
		"a part that the cluster does not have": {spec: `{"capabilities": {"disabled": ["Ingress", "Console"]}}`},
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
			var got []string
			for _, text := range hc.NotActedOn() {
				path, instead, told := strings.Cut(text, " (")
				if !told || instead == ")" {
					t.Errorf("%q does not contain what to do instead", text)
				}
				got = append(got, path)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
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
