package hostedcluster

import (
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Directories in the containers.
const (
	webhookDir = "/etc/webhook"
	awsDir     = "/etc/aws"
	keyDir     = "/etc/signing-key"
)

// Cluster API has one version of each kind, no pools and no topologies: what
// is switched off here needs no CRD, no permission and no memory. Node pools
// have checked the version before they change a MachineSet. Taints follow those
// of the node pool in place.
const clusterAPIGates = "ClusterTopology=false,MachinePool=false,MachineSetPreflightChecks=false,MachineTaintPropagation=true,RuntimeSDK=false"

// providerGates leave plain machines: the VPC, its tags and its load balancers
// are in other hands.
const providerGates = "AutoControllerIdentityCreator=false,EKS=false,ExternalResourceGC=false,MachinePool=false,ROSA=false,TagUnmanagedNetworkResources=false"

// managerArgs are what both programs want to know.
func managerArgs(s *scope, gates string) []string {
	return []string{
		"--namespace=" + s.controlPlane,
		// A lease is renewed every 15 s, not every 2: of these programs there are
		// two for each cluster, and one pod at a time of each.
		"--leader-elect=true",
		"--leader-elect-lease-duration=60s",
		"--leader-elect-renew-deadline=45s",
		"--leader-elect-retry-period=15s",
		"--feature-gates=" + gates,
		"--health-addr=:8081",
		// Authorized diagnostics would take permissions in the whole management cluster:
		// they are for who may forward a port of the pod.
		"--insecure-diagnostics=true",
		"--diagnostics-address=127.0.0.1:8080",
		"--webhook-port=9443",
		"--webhook-cert-dir=" + webhookDir,
	}
}

func manager(name, image, cpu, memory string, args ...string) corev1.Container {
	return corev1.Container{
		Name:  name,
		Image: image,
		Args:  args,
		Ports: []corev1.ContainerPort{
			{Name: "diagnostics", ContainerPort: metricsPort},
			{Name: healthPortName, ContainerPort: healthPort},
			{Name: "webhook", ContainerPort: 9443},
		},
		ReadinessProbe: probe("/readyz"),
		LivenessProbe:  probe("/healthz"),
		Resources:      requests(cpu, memory),
		VolumeMounts:   []corev1.VolumeMount{{Name: "webhook", MountPath: webhookDir, ReadOnly: true}},
	}
}

func clusterAPIPod(s *scope, image string) corev1.PodSpec {
	args := append(managerArgs(s, clusterAPIGates),
		// Migrating the CRDs is not a matter of one hosted cluster.
		"--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields",
		// Labels of a node pool reach its nodes in place, whatever their names.
		"--additional-sync-machine-labels=.+",
	)
	return corev1.PodSpec{
		Containers: []corev1.Container{manager("manager", image, "10m", "70Mi", args...)},
		Volumes:    []corev1.Volume{secretVolume("webhook", names.ClusterAPIWebhooks)},
	}
}

// capiProviderPod has the program that makes instances, and beside it the one
// that makes the token by which AWS knows it. Only the latter sees the key.
func capiProviderPod(s *scope, image, minter string, endpoints []corev1.EnvVar) corev1.PodSpec {
	tokens := path.Dir(names.WebIdentityTokenFile)
	provider := manager("manager", image, "10m", "100Mi", managerArgs(s, providerGates)...)
	provider.Env = append([]corev1.EnvVar{
		{Name: "AWS_REGION", Value: s.aws().Region},
		{Name: "AWS_SHARED_CREDENTIALS_FILE", Value: path.Join(awsDir, credentialsKey)},
		// Never the identity of the node that it happens to run on.
		{Name: "AWS_EC2_METADATA_DISABLED", Value: "true"},
	}, endpoints...)
	provider.VolumeMounts = append(provider.VolumeMounts,
		corev1.VolumeMount{Name: "aws", MountPath: awsDir, ReadOnly: true},
		corev1.VolumeMount{Name: "token", MountPath: tokens, ReadOnly: true})
	return corev1.PodSpec{
		Containers: []corev1.Container{provider, {
			Name:    "token-minter",
			Image:   minter,
			Command: []string{"sidecar", "token-minter"},
			Args: []string{
				"--key-file=" + path.Join(keyDir, names.ServiceAccountPrivateKeyFile),
				"--issuer=" + s.hc.Spec.IssuerURL,
				"--subject=" + names.CAPIProviderSubject,
				"--token-file=" + names.WebIdentityTokenFile,
				"--role-arn=" + string(s.aws().RolesRef.NodePoolManagementARN),
				"--region=" + s.aws().Region,
			},
			Env:       slices.Clone(endpoints),
			Resources: requests("1m", "5Mi"),
			VolumeMounts: []corev1.VolumeMount{
				{Name: "signing-key", MountPath: keyDir, ReadOnly: true},
				{Name: "token", MountPath: tokens},
			},
		}},
		Volumes: []corev1.Volume{
			secretVolume("webhook", names.ClusterAPIWebhooks),
			secretVolume("aws", names.NodeManagementCredentials),
			secretVolume("signing-key", names.ServiceAccountSigningKey),
			{Name: "token", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}},
		},
	}
}

func secretVolume(name, secret string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}}
}
