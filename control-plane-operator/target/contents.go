package target

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/component"
)

// contentsAnnotation, on the pods, is a hash of the objects that they mount, because most programs read them only at start.
const contentsAnnotation = "hypershift.openshift.io/contents"

// source is a Secret or ConfigMap, or some keys of it, that a pod uses.
type source struct {
	Kind, Name string
	// Keys are the keys that are used, or all if it is empty.
	Keys []string
}

const (
	kindSecret    = "Secret"
	kindConfigMap = "ConfigMap"
)

// contents hashes the objects that the pod uses, except for those that its programs reload by themselves. For objects of the
// component itself it hashes the desired state: with the live state, pods would restart twice.
func (p *ControlPlane) contents(c component.Traits, objs []client.Object, pod *corev1.PodSpec) string {
	type content struct {
		source
		Data map[string][]byte
	}
	var all []content
	for _, s := range sources(pod) {
		if id := s.Kind + "/" + s.Name; !slices.Contains(c.Reloads, id) {
			data := s.data(p, objs)
			maps.DeleteFunc(data, func(key string, _ []byte) bool { return slices.Contains(c.Reloads, id+"/"+key) })
			all = append(all, content{s, data})
		}
	}
	text, _ := json.Marshal(all) // names and bytes marshal; keys are sorted
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// data returns the used keys and values of s, or nil if it does not exist: no pod starts before it does.
func (s source) data(p *ControlPlane, objs []client.Object) map[string][]byte {
	var all map[string][]byte
	if s.Kind == kindSecret {
		all = secretData(find(objs, p.Secrets, s.Name))
	} else {
		all = configMapData(find(objs, p.ConfigMaps, s.Name))
	}
	if len(s.Keys) == 0 {
		return all
	}
	some := map[string][]byte{}
	for _, k := range s.Keys {
		if v, ok := all[k]; ok {
			some[k] = v
		}
	}
	return some
}

// find returns the object with that name, from the component itself or from the cluster.
func find[T client.Object](objs []client.Object, existing map[string]T, name string) T {
	for _, obj := range objs {
		if typed, ok := obj.(T); ok && typed.GetName() == name {
			return typed
		}
	}
	return existing[name]
}

func secretData(s *corev1.Secret) map[string][]byte {
	if s == nil {
		return nil
	}
	return merged(s.Data, s.StringData)
}

func configMapData(c *corev1.ConfigMap) map[string][]byte {
	if c == nil {
		return nil
	}
	return merged(c.BinaryData, c.Data)
}

func merged(binary map[string][]byte, text map[string]string) map[string][]byte {
	out := map[string][]byte{}
	for k, v := range binary {
		out[k] = v
	}
	for k, v := range text {
		out[k] = []byte(v)
	}
	return out
}

// sources returns the objects that volumes and environment variables of the pod refer to, in order.
func sources(pod *corev1.PodSpec) []source {
	var out []source
	add := func(kind, name string, keys ...string) { out = append(out, source{kind, name, keys}) }
	for _, v := range pod.Volumes {
		if v.Secret != nil {
			add(kindSecret, v.Secret.SecretName, keysOf(v.Secret.Items)...)
		}
		if v.ConfigMap != nil {
			add(kindConfigMap, v.ConfigMap.Name, keysOf(v.ConfigMap.Items)...)
		}
		if v.Projected == nil {
			continue
		}
		for _, p := range v.Projected.Sources {
			if p.Secret != nil {
				add(kindSecret, p.Secret.Name, keysOf(p.Secret.Items)...)
			}
			if p.ConfigMap != nil {
				add(kindConfigMap, p.ConfigMap.Name, keysOf(p.ConfigMap.Items)...)
			}
		}
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, e := range c.EnvFrom {
			if e.SecretRef != nil {
				add(kindSecret, e.SecretRef.Name)
			}
			if e.ConfigMapRef != nil {
				add(kindConfigMap, e.ConfigMapRef.Name)
			}
		}
		for _, e := range c.Env {
			if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
				add(kindSecret, e.ValueFrom.SecretKeyRef.Name, e.ValueFrom.SecretKeyRef.Key)
			}
			if e.ValueFrom != nil && e.ValueFrom.ConfigMapKeyRef != nil {
				add(kindConfigMap, e.ValueFrom.ConfigMapKeyRef.Name, e.ValueFrom.ConfigMapKeyRef.Key)
			}
		}
	}
	return out
}

func keysOf(items []corev1.KeyToPath) []string {
	var keys []string
	for _, i := range items {
		keys = append(keys, i.Key)
	}
	return keys
}
