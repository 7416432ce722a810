package cluster

import (
	"github.com/spf13/cobra"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/nodepool"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/clusteriam"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/infra"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustermanifests"
)

// flags are the flags that describe a cluster and its resources in AWS.
type flags struct {
	cluster clustermanifests.Cluster
	network infra.Spec
	roles   clusteriam.Spec
	// vpcOwner is the account of the VPC, if that is another one.
	vpcOwner operation.VPCOwner
	pool     nodepool.Flags

	infraJSON, iamJSON                             string
	bucket, bucketRegion, issuerURL                string
	vpcCIDR                                        string
	additionalTags                                 []string
	pullSecret, sshKey, encryptionKey, trustBundle string
	imageContentSources                            string
	annotations, labels                            []string
	nodeSelector, podLabels                        map[string]string
	tolerations, capabilities                      []string
	endpointAccess, controlPlane, infrastructure   string
	networkType                                    string

	// changed returns whether the user has set a flag.
	changed func(flag string) bool
}

func (f *flags) add(cmd *cobra.Command) {
	s := cmd.Flags()
	f.changed = s.Changed
	c, n, r := &f.cluster, &f.network, &f.roles
	s.StringVar(&c.Name, "name", "", "name of the cluster, instead of the argument (required)")
	s.StringVar(&c.Release, "release-image", "", "release image of the control plane and the nodes (required)")
	s.StringVar(&f.pullSecret, "pull-secret", "", "file with the credentials of registries (default: none)")
	s.StringVar(&f.sshKey, "ssh-key", "", "file with a public key that may log in to the nodes (default: none)")
	s.StringVar(&f.encryptionKey, "etcd-encryption-key-file", "", "file with 32 bytes in base64 that encrypt Secrets in etcd (default: a random key)")
	s.StringVar(&f.trustBundle, "additional-trust-bundle", "", "file with certificate authorities that the cluster trusts")
	s.StringVar(&f.imageContentSources, "image-content-sources", "", "file with mirrors of image repositories, in the form of spec.imageContentSources")

	s.StringVar(&f.endpointAccess, "endpoint-access", string(hyperv1.Public), "access to the API server: Public, PublicAndPrivate or Private")
	s.StringVar(&c.ExternalDNSDomain, "external-dns-domain", "", "domain of the public host names of the control plane, which external-dns creates")
	s.StringVar(&c.KubeAPIServerDNSName, "kas-dns-name", "", "additional DNS name of the API server")
	s.StringVar(&f.controlPlane, "control-plane-availability-policy", string(hyperv1.HighlyAvailable), "HighlyAvailable or SingleReplica")
	s.StringVar(&f.infrastructure, "infra-availability-policy", string(hyperv1.SingleReplica), "HighlyAvailable or SingleReplica, for what the cluster runs on its nodes")
	s.StringVar(&c.EtcdStorageClass, "etcd-storage-class", "", "storage class of the volumes of etcd (default: that of the management cluster)")
	s.StringVar(&c.EtcdStorageSize, "etcd-storage-size", "8Gi", "size of each volume of etcd")
	s.StringVar(&f.networkType, "network-type", string(hyperv1.OVNKubernetes), "pod network: OVNKubernetes for that of the release, Calico or Other for one that you install")
	s.StringSliceVar(&c.ClusterCIDRs, "cluster-cidr", []string{"10.132.0.0/14"}, "addresses of pods")
	s.StringSliceVar(&c.ServiceCIDRs, "service-cidr", []string{"172.31.0.0/16"}, "addresses of Services")
	s.BoolVar(&c.FIPS, "fips", false, "use cryptography that was validated under FIPS 140")
	s.StringVar(&c.PausedUntil, "pausedUntil", "", "true, or a time such as 2030-01-31T12:00:00Z until which the operators do nothing")
	s.StringArrayVar(&f.annotations, "annotations", nil, "annotation of the HostedCluster, as key=value")
	s.StringArrayVar(&f.labels, "labels", nil, "label of the HostedCluster, as key=value")
	s.StringToStringVar(&f.nodeSelector, "node-selector", nil, "labels of the nodes on which the control plane runs")
	s.StringToStringVar(&f.podLabels, "pods-labels", nil, "labels of the pods of the control plane")
	s.StringArrayVar(&f.tolerations, "toleration", nil, "toleration of the pods of the control plane, as key=a,operator=Equal,value=b,effect=NoSchedule")

	s.Int32Var(&f.pool.Replicas, "node-pool-replicas", 1, "nodes in each zone; -1 for no node pools")
	f.pool.Add(cmd)

	s.StringVar(&n.InfraID, "infra-id", "", "infra ID of the cluster, the prefix of all names in AWS (default: the name and a random suffix)")
	s.StringVar(&n.BaseDomain, "base-domain", "", "domain of an existing public hosted zone (required without --infra-json, except with --endpoint-access Private)")
	s.StringVar(&n.BaseDomainPrefix, "base-domain-prefix", "", "prefix of the private zone in the base domain (default: the name of the cluster; none: no prefix)")
	s.StringSliceVar(&n.Zones, "zones", nil, "availability zones, as names or ids such as use1-az1, with a node pool in each (default: the first one that the management cluster serves)")
	s.StringVar(&f.vpcCIDR, "vpc-cidr", "10.0.0.0/16", "addresses of the VPC, a network with a mask of 16 bits")
	s.BoolVar(&n.SingleNATGateway, "single-nat-gateway", false, "one NAT gateway for all zones: it costs less, and all zones depend on one")
	s.BoolVar(&n.PublicOnly, "public-only", false, "only public subnets, without NAT gateways; nodes have public addresses")
	s.BoolVar(&n.Proxy, "enable-proxy", false, "a proxy in the first public subnet instead of NAT gateways; nodes use it")
	s.BoolVar(&n.SecureProxy, "enable-secure-proxy", false, "the same, and nodes connect to the proxy with TLS, with a certificate authority of its own")
	s.StringVar(&f.infraJSON, "infra-json", "", "file with the result of hypershift create infra: the network exists, and is not changed")
	s.StringVar(&f.iamJSON, "iam-json", "", "file with the result of hypershift create iam: the roles exist, and are not changed (needs --infra-json)")
	s.StringVar(&f.bucket, "oidc-storage-provider-s3-bucket-name", "", "bucket with the OIDC documents of clusters (default: that of the operator)")
	s.StringVar(&f.bucketRegion, "oidc-storage-provider-s3-region", "", "region of that bucket (default: that of the operator)")
	s.StringVar(&f.issuerURL, "oidc-issuer-url", "", "issuer with an existing OIDC provider, instead of the bucket")
	s.StringVar(&r.KMSKeyARN, "kms-key-arn", "", "key of KMS that encrypts Secrets in etcd, instead of a Secret; adds the role kms-provider")
	s.StringVar(&r.BackupBucket, "backup-bucket", "", "bucket for backups of etcd; adds the role etcd-backup")
	s.BoolVar(&r.AutoNode, "auto-node", false, "create nodes on demand with Karpenter; adds the role karpenter")
	s.StringSliceVar(&f.capabilities, "enable-cluster-capabilities", nil, "optional parts of the release that the cluster has: Ingress, an ingress controller with a load balancer and the names *.apps; ImageRegistry, an image registry with a bucket")
	s.BoolVar(&n.WorkerGroup, "worker-security-group", false, "a security group for nodes, in addition to that of the operator")
	s.StringSliceVar(&f.additionalTags, "additional-tags", nil, "tags of all resources in AWS, as key=value")
	f.vpcOwner.Flags(cmd)
}
