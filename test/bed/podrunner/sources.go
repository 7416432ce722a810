package podrunner

import (
	"context"
	"fmt"
	"maps"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// sources answers what a pod template refers to, in the namespace of the pod and for its service account.
type sources struct {
	kube           kubernetes.Interface
	namespace      string
	serviceAccount string
}

// tokenLife is long enough for any test; the runner renews a token when half of it is over.
const tokenLife = 3600

func (s sources) token(ctx context.Context, audiences ...string) (string, error) {
	seconds := int64(tokenLife)
	tr, err := s.kube.CoreV1().ServiceAccounts(s.namespace).CreateToken(ctx, s.serviceAccount, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: audiences, ExpirationSeconds: &seconds},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("getting a token of service account %s/%s: %w", s.namespace, s.serviceAccount, err)
	}
	return tr.Status.Token, nil
}

func (s sources) secret(ctx context.Context, name string, optional *bool) (map[string][]byte, error) {
	got, err := s.kube.CoreV1().Secrets(s.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, missing(err, optional, "Secret", s.namespace, name)
	}
	return got.Data, nil
}

func (s sources) configMap(ctx context.Context, name string, optional *bool) (map[string][]byte, error) {
	got, err := s.kube.CoreV1().ConfigMaps(s.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, missing(err, optional, "ConfigMap", s.namespace, name)
	}
	data := maps.Clone(got.BinaryData)
	if data == nil {
		data = map[string][]byte{}
	}
	for k, v := range got.Data {
		data[k] = []byte(v)
	}
	return data, nil
}

func missing(err error, optional *bool, kind, namespace, name string) error {
	if apierrors.IsNotFound(err) && optional != nil && *optional {
		return nil
	}
	return fmt.Errorf("reading %s %s/%s: %w", kind, namespace, name, err)
}

// files returns what a volume holds: path below its mount -> content.
func (s sources) files(ctx context.Context, v corev1.Volume) (map[string][]byte, error) {
	switch {
	case v.EmptyDir != nil:
		return nil, nil
	case v.Secret != nil:
		data, err := s.secret(ctx, v.Secret.SecretName, v.Secret.Optional)
		return selected(data, v.Secret.Items), err
	case v.ConfigMap != nil:
		data, err := s.configMap(ctx, v.ConfigMap.Name, v.ConfigMap.Optional)
		return selected(data, v.ConfigMap.Items), err
	case v.Projected != nil:
		return s.projected(ctx, v.Projected.Sources)
	}
	return nil, fmt.Errorf("volume %s is of a kind that the pod runner does not have", v.Name)
}

func (s sources) projected(ctx context.Context, projections []corev1.VolumeProjection) (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, p := range projections {
		var (
			part  map[string][]byte
			err   error
			items []corev1.KeyToPath
		)
		switch {
		case p.Secret != nil:
			part, err = s.secret(ctx, p.Secret.Name, p.Secret.Optional)
			items = p.Secret.Items
		case p.ConfigMap != nil:
			part, err = s.configMap(ctx, p.ConfigMap.Name, p.ConfigMap.Optional)
			items = p.ConfigMap.Items
		case p.ServiceAccountToken != nil:
			var audiences []string
			if p.ServiceAccountToken.Audience != "" {
				audiences = []string{p.ServiceAccountToken.Audience}
			}
			var token string
			token, err = s.token(ctx, audiences...)
			part = map[string][]byte{p.ServiceAccountToken.Path: []byte(token)}
		default:
			err = fmt.Errorf("a projected volume has a source that the pod runner does not have")
		}
		if err != nil {
			return nil, err
		}
		maps.Copy(all, selected(part, items))
	}
	return all, nil
}

// selected picks keys and gives them paths; no items means every key under its own name.
func selected(data map[string][]byte, items []corev1.KeyToPath) map[string][]byte {
	if len(items) == 0 {
		return data
	}
	picked := map[string][]byte{}
	for _, item := range items {
		if content, ok := data[item.Key]; ok {
			picked[item.Path] = content
		}
	}
	return picked
}

// env returns the environment of a container, in the order of its template.
func (s sources) env(ctx context.Context, c corev1.Container, podName string) ([]corev1.EnvVar, error) {
	var env []corev1.EnvVar
	if len(c.EnvFrom) > 0 {
		return nil, fmt.Errorf("container %s uses envFrom, which the pod runner does not have", c.Name)
	}
	for _, e := range c.Env {
		value, ok, err := s.value(ctx, e, podName)
		if err != nil {
			return nil, fmt.Errorf("environment variable %s of container %s: %w", e.Name, c.Name, err)
		}
		if ok {
			env = append(env, corev1.EnvVar{Name: e.Name, Value: value})
		}
	}
	return env, nil
}

// value resolves one variable; ok is false for an optional reference to what is not there.
func (s sources) value(ctx context.Context, e corev1.EnvVar, podName string) (value string, ok bool, err error) {
	from := e.ValueFrom
	switch {
	case from == nil:
		return e.Value, true, nil
	case from.SecretKeyRef != nil:
		data, err := s.secret(ctx, from.SecretKeyRef.Name, from.SecretKeyRef.Optional)
		return key(data, err, from.SecretKeyRef.Key, from.SecretKeyRef.Optional)
	case from.ConfigMapKeyRef != nil:
		data, err := s.configMap(ctx, from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Optional)
		return key(data, err, from.ConfigMapKeyRef.Key, from.ConfigMapKeyRef.Optional)
	case from.FieldRef != nil:
		fields := map[string]string{
			"metadata.name":           podName,
			"metadata.namespace":      s.namespace,
			"spec.serviceAccountName": s.serviceAccount,
			"status.podIP":            "127.0.0.1",
		}
		value, ok := fields[from.FieldRef.FieldPath]
		if !ok {
			return "", false, fmt.Errorf("the pod runner does not know the field %s", from.FieldRef.FieldPath)
		}
		return value, true, nil
	}
	return "", false, fmt.Errorf("a source that the pod runner does not have")
}

func key(data map[string][]byte, err error, name string, optional *bool) (string, bool, error) {
	if err != nil {
		return "", false, err
	}
	content, ok := data[name]
	if !ok && (optional == nil || !*optional) {
		return "", false, fmt.Errorf("there is no key %s", name)
	}
	return string(content), ok, nil
}
