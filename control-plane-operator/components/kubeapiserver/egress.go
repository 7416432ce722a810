package kubeapiserver

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
)

// egressControlPlane is the egress selection of webhooks that are not Services of the cluster. Kubernetes connects to them directly if
// there is none: https://kubernetes.io/docs/tasks/extend-kubernetes/setup-konnectivity/.
const egressControlPlane = "controlplane"

// adaptEgress leads to webhooks through the tunnels if the annotation requests it. Issuers of OIDC tokens have their own setting.
func adaptEgress(env *target.ControlPlane, cm *corev1.ConfigMap) error {
	if env.HCP.Annotations[hyperv1.WebhooksInClusterNetworkAnnotation] != "true" {
		return nil
	}
	const file = "config.yaml"
	var config struct {
		APIVersion       string           `json:"apiVersion"`
		Kind             string           `json:"kind"`
		EgressSelections []map[string]any `json:"egressSelections"`
	}
	if err := yaml.UnmarshalStrict([]byte(cm.Data[file]), &config); err != nil {
		return fmt.Errorf("reading the egress configuration: %w", err)
	}
	webhooks := maps.Clone(config.EgressSelections[0])
	webhooks["name"] = egressControlPlane
	config.EgressSelections = append(config.EgressSelections, webhooks)
	text, err := yaml.Marshal(config)
	if err != nil {
		return fmt.Errorf("writing the egress configuration: %w", err)
	}
	cm.Data[file] = string(text)
	return nil
}
