package requirements

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Keys of the user's ConfigMaps.
const (
	configKey = "config"
	tuningKey = "tuning"
)

// PollInterval is how often the user's ConfigMaps and Secrets are read, which are not watched.
const PollInterval = 30 * time.Second

// NodeConfig reads the configuration of the nodes. reader reads past the cache, which has no ConfigMaps of users.
func NodeConfig(ctx context.Context, reader client.Reader, np *hyperv1.NodePool, hc *hyperv1.HostedCluster) (nodeconfig.Config, error) {
	texts, err := sources(ctx, reader, np, np.Spec.Config, configKey)
	if err != nil {
		return nodeconfig.Config{}, err
	}
	mirrors, err := clusterMirrors(hc)
	if err != nil {
		return nodeconfig.Config{}, err
	}
	config, problems := nodeconfig.Parse(texts)
	if len(problems) > 0 {
		return nodeconfig.Config{}, misconfigured(problems)
	}
	config.Mirrors = append(mirrors, config.Mirrors...)
	return config, nil
}

// clusterMirrors returns the mirrors of the HostedCluster. They precede the pool's mirrors.
func clusterMirrors(hc *hyperv1.HostedCluster) ([]nodeconfig.Mirror, error) {
	var mirrors []nodeconfig.Mirror
	for _, source := range hc.Spec.ImageContentSources {
		mirror := nodeconfig.Mirror{Source: source.Source, Mirrors: source.Mirrors}
		if err := mirror.Check(); err != nil {
			return nil, reconcile.Wait(PollInterval, hyperv1.InvalidConfigurationReason, "spec.imageContentSources of HostedCluster %s: %v", hc.Name, err)
		}
		mirrors = append(mirrors, mirror)
	}
	return mirrors, nil
}

// Tuning reports the parts of spec.tuningConfig that are not supported.
func Tuning(ctx context.Context, reader client.Reader, np *hyperv1.NodePool) error {
	texts, err := sources(ctx, reader, np, np.Spec.TuningConfig, tuningKey)
	if err != nil {
		return err
	}
	if problems := nodeconfig.CheckTuning(texts); len(problems) > 0 {
		return misconfigured(problems)
	}
	return nil
}

// misconfigured retries after an interval, because ConfigMaps of users are not watched.
func misconfigured(problems []nodeconfig.Problem) error {
	var messages []string
	for _, p := range problems {
		messages = append(messages, p.String())
	}
	return reconcile.Wait(PollInterval, hyperv1.InvalidConfigMapReason, "%s", strings.Join(messages, "; "))
}

func sources(ctx context.Context, reader client.Reader, np *hyperv1.NodePool, refs []hyperv1.NodePoolConfigMapReference, key string) ([]nodeconfig.Source, error) {
	var out []nodeconfig.Source
	var missing []string
	for _, ref := range refs {
		cm := &corev1.ConfigMap{}
		err := reader.Get(ctx, client.ObjectKey{Namespace: np.Namespace, Name: ref.Name}, cm)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("getting ConfigMap %s: %w", ref.Name, err)
		}
		text, ok := cm.Data[key]
		switch {
		case apierrors.IsNotFound(err):
			missing = append(missing, fmt.Sprintf("ConfigMap %s does not exist in namespace %s: create it", ref.Name, np.Namespace))
		case !ok:
			missing = append(missing, fmt.Sprintf("ConfigMap %s has no key %q: add it", ref.Name, key))
		default:
			out = append(out, nodeconfig.Source{Name: ref.Name, Text: text})
		}
	}
	if len(missing) > 0 {
		return nil, reconcile.Wait(PollInterval, hyperv1.ConfigMapNotFoundReason, "%s", strings.Join(missing, "; "))
	}
	return out, nil
}
