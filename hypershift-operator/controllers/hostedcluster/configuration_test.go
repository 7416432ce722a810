package hostedcluster

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func TestJudge(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*hyperv1.HostedCluster)
		reason string   // empty for a cluster that is fine
		says   []string // what the messages must tell
	}{
		"a private cluster with its API on a load balancer": {change: func(*hyperv1.HostedCluster) {}},
		"a cluster with its API behind the router": {
			change: func(hc *hyperv1.HostedCluster) { publish(hc, hyperv1.APIServer, hyperv1.Route, "api.example.com") },
		},
		"a public cluster needs no VPC": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Platform.AWS.EndpointAccess = hyperv1.Public
				hc.Spec.Platform.AWS.CloudProviderConfig = nil
			},
		},
		"a cluster without a platform": {
			change: func(hc *hyperv1.HostedCluster) { hc.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.NonePlatform} },
		},
		"networks side by side": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Networking.MachineNetwork = []hyperv1.MachineNetworkEntry{{CIDR: "10.0.0.0/17"}, {CIDR: "10.0.128.0/17"}}
			},
		},

		"type AWS without aws": {
			change: func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.AWS = nil },
			reason: hyperv1.PlatformConfigMissingReason, says: []string{"platform.aws is missing: add it"},
		},
		"a name that does not fit a namespace": {
			change: func(hc *hyperv1.HostedCluster) { hc.Name = strings.Repeat("a", 60) },
			reason: hyperv1.NameTooLongReason, says: []string{"69 characters", "shorter"},
		},
		"a role that is no ARN": {
			change: func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.AWS.RolesRef.ControlPlaneOperatorARN = "x" },
			reason: hyperv1.InvalidConfigurationReason, says: []string{`rolesRef.controlPlaneOperatorARN is "x"`, "arn:aws:iam::123456789012:role/name"},
		},
		"a role of a shared VPC that is no ARN": {
			change: func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.AWS.SharedVPC = &hyperv1.AWSSharedVPC{} },
			reason: hyperv1.InvalidConfigurationReason, says: []string{"sharedVPC.rolesRef.ingressARN", "sharedVPC.rolesRef.controlPlaneARN"},
		},
		"everybody may connect": {
			change: func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.AWS.AdditionalAllowedPrincipals = []string{"*"} },
			reason: hyperv1.InvalidConfigurationReason, says: []string{`has "*"`},
		},
		"a private cluster without a VPC": {
			change: func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.AWS.CloudProviderConfig = nil },
			reason: hyperv1.InvalidConfigurationReason, says: []string{"set platform.aws.cloudProviderConfig.vpc"},
		},

		"a private cluster that says nothing of its VPC's addresses": {
			change: func(hc *hyperv1.HostedCluster) { hc.Spec.Networking.MachineNetwork = nil },
			reason: hyperv1.InvalidConfigurationReason, says: []string{"set networking.machineNetwork"},
		},
		"four times the same service": {
			change: func(hc *hyperv1.HostedCluster) {
				for i := range hc.Spec.Services {
					hc.Spec.Services[i] = hc.Spec.Services[0]
				}
			},
			reason: hyperv1.UnsupportedPublishingReason, says: []string{"lists APIServer more than once"},
		},
		"two services at one host name": {
			change: func(hc *hyperv1.HostedCluster) {
				publish(hc, hyperv1.Konnectivity, hyperv1.Route, "a.example.com")
				publish(hc, hyperv1.Ignition, hyperv1.Route, "a.example.com")
			},
			reason: hyperv1.UnsupportedPublishingReason, says: []string{"a.example.com to Konnectivity and Ignition"},
		},
		"a router that cannot tell the API server from the rest": {
			change: func(hc *hyperv1.HostedCluster) { publish(hc, hyperv1.APIServer, hyperv1.Route, "") },
			reason: hyperv1.UnsupportedPublishingReason, says: []string{"Route without a hostname", "use LoadBalancer"},
		},
		"node ports on AWS": {
			change: func(hc *hyperv1.HostedCluster) { publish(hc, hyperv1.Konnectivity, hyperv1.NodePort, "") },
			reason: hyperv1.UnsupportedPublishingReason, says: []string{"Konnectivity as NodePort", "use Route"},
		},
		"an API server that nobody publishes": {
			change: func(hc *hyperv1.HostedCluster) { hc.Spec.Services = hc.Spec.Services[1:] },
			reason: hyperv1.UnsupportedPublishingReason, says: []string{"does not say how APIServer is published"},
		},

		"a network that is none": {
			change: func(hc *hyperv1.HostedCluster) { hc.Spec.Networking.ServiceNetwork[0].CIDR = "10.0.0.0/33" },
			reason: hyperv1.InvalidConfigurationReason, says: []string{`serviceNetwork has "10.0.0.0/33"`, "like 10.0.0.0/16"},
		},
		"networks that overlap": {
			change: func(hc *hyperv1.HostedCluster) { hc.Spec.Networking.ClusterNetwork[0].CIDR = "10.0.0.0/8" },
			reason: hyperv1.NetworksOverlapReason, says: []string{"machineNetwork 10.0.0.0/16 and networking.clusterNetwork 10.0.0.0/8"},
		},
		"a network over the address of the API server": {
			change: func(hc *hyperv1.HostedCluster) { hc.Spec.Networking.ServiceNetwork[0].CIDR = "172.16.0.0/12" },
			reason: hyperv1.NetworksOverlapReason, says: []string{"contains 172.20.0.1"},
		},
		"an address of the API server inside a network": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Networking.APIServer = &hyperv1.APIServerNetworking{AdvertiseAddress: ptr.To("10.0.3.4")}
			},
			reason: hyperv1.NetworksOverlapReason, says: []string{"contains 10.0.3.4"},
		},
		"an address that is none": {
			change: func(hc *hyperv1.HostedCluster) {
				hc.Spec.Networking.APIServer = &hyperv1.APIServerNetworking{AdvertiseAddress: ptr.To("here")}
			},
			reason: hyperv1.InvalidConfigurationReason, says: []string{`advertiseAddress is "here"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			hc := privateCluster()
			tc.change(hc)
			problems := judge(hc)
			if tc.reason == "" {
				if len(problems) > 0 {
					t.Errorf("refused: %v", problems)
				}
				return
			}
			if len(problems) == 0 || problems[0].reason != tc.reason {
				t.Fatalf("got %v, want reason %s", problems, tc.reason)
			}
			var all []string
			for _, p := range problems {
				all = append(all, p.message)
			}
			for _, words := range tc.says {
				if text := strings.Join(all, "; "); !strings.Contains(text, words) {
					t.Errorf("%q does not say %q", text, words)
				}
			}
		})
	}
}

// publish changes how a service is published.
func publish(hc *hyperv1.HostedCluster, svc hyperv1.ServiceType, how hyperv1.PublishingStrategyType, host string) {
	p := hyperv1.ServicePublishingStrategy{Type: how}
	if how == hyperv1.Route && host != "" {
		p.Route = &hyperv1.RoutePublishingStrategy{Hostname: host}
	}
	for i := range hc.Spec.Services {
		if hc.Spec.Services[i].Service == svc {
			hc.Spec.Services[i].ServicePublishingStrategy = p
		}
	}
}

func TestInfraIDFitsNamesOfAWS(t *testing.T) {
	for name, hc := range map[string]string{
		"short":                     "demo",
		"long":                      strings.Repeat("abcdefghij", 6),
		"dotted":                    "demo.example.com",
		"cut behind a dash":         strings.Repeat("a", 20) + "-bcd",
		"as long as may be already": strings.Repeat("a", 21),
	} {
		t.Run(name, func(t *testing.T) {
			c := privateCluster()
			c.Name, c.UID = hc, "uid-1"
			id := infraID(c)
			if len(id) > 27 || strings.Contains(id, ".") || strings.Contains(id, "--") {
				t.Errorf("infraID %q", id)
			}
			c.UID = "uid-2"
			if infraID(c) == id {
				t.Errorf("two clusters have infraID %q", id)
			}
		})
	}
}
