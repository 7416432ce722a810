package clusterapi

import (
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/hosted-control-planes/hypershift/hypershift-operator/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Directories in the containers.
const (
	webhookDir = "/etc/webhook"
	awsDir     = "/etc/aws"
	keyDir     = "/etc/signing-key"
)

// clusterAPIGates disable what needs CRDs, permissions and memory without use: there
// is one version of each kind, and no pool and no topology. The NodePool controller
// checks the version before it changes a MachineSet. Taints of a node pool are
// propagated in place.
const clusterAPIGates = "ClusterTopology=false,MachinePool=false,MachineSetPreflightChecks=false,MachineTaintPropagation=true,RuntimeSDK=false"

// providerGates leave plain machines: the VPC, its tags and its load balancers are
// managed elsewhere.
const providerGates = "AutoControllerIdentityCreator=false,EKS=false,ExternalResourceGC=false,MachinePool=false,ROSA=false,TagUnmanagedNetworkResources=false"

// managerArgs are the arguments that both programs have.
func managerArgs(plane controlplane.Namespace, gates string) []string {
	return []string{
		"--namespace=" + plane.Name,
		// The lease is renewed every 15 s instead of every 2: there are two of these
		// programs for each cluster, with one pod each.
		"--leader-elect=true",
		"--leader-elect-lease-duration=60s",
		"--leader-elect-renew-deadline=45s",
		"--leader-elect-retry-period=15s",
		"--feature-gates=" + gates,
		"--health-addr=:8081",
		// Authorized diagnostics would need permissions in the whole management cluster:
		// they are for users with permission to forward a port of the pod.
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
			{Name: "diagnostics", ContainerPort: controlplane.MetricsPort},
			{Name: controlplane.HealthPortName, ContainerPort: controlplane.HealthPort},
			{Name: "webhook", ContainerPort: 9443},
		},
		ReadinessProbe: controlplane.Probe("/readyz"),
		LivenessProbe:  controlplane.Probe("/healthz"),
		Resources:      controlplane.Requests(cpu, memory),
		VolumeMounts:   []corev1.VolumeMount{{Name: "webhook", MountPath: webhookDir, ReadOnly: true}},
	}
}

func clusterAPIPod(plane controlplane.Namespace, image string) corev1.PodSpec {
	args := append(managerArgs(plane, clusterAPIGates),
		// One hosted cluster must not migrate CRDs.
		"--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields",
		// Labels of a node pool are propagated to its nodes in place, whatever their names.
		"--additional-sync-machine-labels=.+",
	)
	return corev1.PodSpec{
		Containers: []corev1.Container{manager("manager", image, "10m", "70Mi", args...)},
		Volumes:    []corev1.Volume{secretVolume("webhook", names.ClusterAPIWebhooks)},
	}
}

// ProviderPod runs the program that creates instances, and a sidecar that issues
// the token for AWS. Only the sidecar mounts the signing key.
func ProviderPod(c Cluster, with Controllers) corev1.PodSpec {
	tokens := path.Dir(names.WebIdentityTokenFile)
	provider := manager("manager", with.Provider, "10m", "100Mi", managerArgs(c.Plane, providerGates)...)
	provider.Env = append([]corev1.EnvVar{
		{Name: "AWS_REGION", Value: c.AWS.Region},
		{Name: "AWS_SHARED_CREDENTIALS_FILE", Value: path.Join(awsDir, "credentials")},
		// The provider must not use the identity of the node that it runs on.
		{Name: "AWS_EC2_METADATA_DISABLED", Value: "true"},
	}, with.AWSEndpoints...)
	provider.VolumeMounts = append(provider.VolumeMounts,
		corev1.VolumeMount{Name: "aws", MountPath: awsDir, ReadOnly: true},
		corev1.VolumeMount{Name: "token", MountPath: tokens, ReadOnly: true})
	return corev1.PodSpec{
		Containers: []corev1.Container{provider, {
			Name:    "token-minter",
			Image:   with.TokenMinter,
			Command: []string{"sidecar", "token-minter"},
			Args: []string{
				"--key-file=" + path.Join(keyDir, names.ServiceAccountPrivateKeyFile),
				"--issuer=" + with.IssuerURL,
				"--subject=" + names.CAPIProviderSubject,
				"--token-file=" + names.WebIdentityTokenFile,
				"--role-arn=" + string(c.AWS.RolesRef.NodePoolManagementARN),
				"--region=" + c.AWS.Region,
			},
			Env:       slices.Clone(with.AWSEndpoints),
			Resources: controlplane.Requests("1m", "5Mi"),
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
