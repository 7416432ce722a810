package kubescheduler

import (
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
)

// configuration is the part of kubescheduler.config.k8s.io/v1 that we write.
type configuration struct {
	APIVersion       string           `json:"apiVersion"`
	Kind             string           `json:"kind"`
	ClientConnection clientConnection `json:"clientConnection"`
	LeaderElection   leaderElection   `json:"leaderElection"`
	EnableProfiling  bool             `json:"enableProfiling"`
	Profiles         []profile        `json:"profiles,omitempty"`
}

type clientConnection struct {
	Kubeconfig string `json:"kubeconfig"`
}

type leaderElection struct {
	LeaderElect   bool   `json:"leaderElect"`
	LeaseDuration string `json:"leaseDuration,omitempty"`
	RenewDeadline string `json:"renewDeadline,omitempty"`
	RetryPeriod   string `json:"retryPeriod,omitempty"`
}

type profile struct {
	SchedulerName string            `json:"schedulerName"`
	Plugins       map[string]plugin `json:"plugins,omitempty"`
	PluginConfig  []pluginConfig    `json:"pluginConfig,omitempty"`
}

type plugin struct {
	Enabled  []weighted `json:"enabled,omitempty"`
	Disabled []weighted `json:"disabled,omitempty"`
}

type weighted struct {
	Name   string `json:"name"`
	Weight int32  `json:"weight,omitempty"`
}

type pluginConfig struct {
	Name string         `json:"name"`
	Args map[string]any `json:"args"`
}

func adaptConfig(env *target.ControlPlane, cm *corev1.ConfigMap) error {
	config := configuration{
		APIVersion:       "kubescheduler.config.k8s.io/v1",
		Kind:             "KubeSchedulerConfiguration",
		ClientConnection: clientConnection{Kubeconfig: "/etc/kubernetes/kubeconfig/kubeconfig"},
	}
	if env.HighlyAvailable() {
		config.LeaderElection = leaderElection{
			LeaderElect:   true,
			LeaseDuration: target.LeaseDuration.String(),
			RenewDeadline: target.RenewDeadline.String(),
			RetryPeriod:   target.RetryPeriod.String(),
		}
	}
	if c := env.HCP.Spec.Configuration; c != nil && c.Scheduler != nil {
		config.Profiles = profiles(c.Scheduler.Profile, c.Scheduler.ProfileCustomizations.DynamicResourceAllocation)
	}
	text, err := yaml.Marshal(config)
	if err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	cm.Data = map[string]string{"config.yaml": string(text)}
	return nil
}

// profiles returns the user's profile. Spreading the load and dynamic resource allocation are the scheduler's defaults.
func profiles(chosen configv1.SchedulerProfile, resources configv1.DRAEnablement) []profile {
	p := profile{SchedulerName: corev1.DefaultSchedulerName}
	switch chosen {
	case configv1.HighNodeUtilization: // few nodes with high utilization
		p.Plugins = map[string]plugin{"score": {
			Enabled:  []weighted{{Name: "NodeResourcesFit", Weight: 5}},
			Disabled: []weighted{{Name: "NodeResourcesBalancedAllocation"}},
		}}
		p.PluginConfig = []pluginConfig{{Name: "NodeResourcesFit", Args: map[string]any{
			"scoringStrategy": map[string]any{"type": "MostAllocated", "resources": []weighted{{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 1}}},
		}}}
	case configv1.NoScoring: // the first suitable node
		none := plugin{Disabled: []weighted{{Name: "*"}}}
		p.Plugins = map[string]plugin{"preScore": none, "score": none}
	default:
		if resources != configv1.DRAEnablementDisabled {
			return nil
		}
		p.Plugins = map[string]plugin{}
	}
	if resources == configv1.DRAEnablementDisabled {
		p.Plugins["multiPoint"] = plugin{Disabled: []weighted{{Name: "DynamicResources"}}}
	}
	return []profile{p}
}
