package v1beta1

import (
	"slices"
	"testing"
)

func TestAnnotationsNotActedOn(t *testing.T) {
	set := func(keys ...string) map[string]string {
		all := map[string]string{}
		for _, key := range keys {
			all[key] = "true"
		}
		return all
	}
	for name, c := range map[string]struct {
		annotations    map[string]string
		ofClus, ofPool []string
	}{
		"none": {},
		"those of others": {
			annotations: set("kubectl.kubernetes.io/last-applied-configuration", "example.com/hypershift.openshift.io", "nothypershift.openshift.io/a", "plain"),
		},
		"those of a cluster have no effect on a pool": {
			annotations: set(RestartDateAnnotation, KubeAPIServerGOGCAnnotation),
			ofPool:      []string{KubeAPIServerGOGCAnnotation, RestartDateAnnotation},
		},
		"those of a pool have no effect on a cluster": {
			annotations: set(UserDataFormatAnnotation),
			ofClus:      []string{UserDataFormatAnnotation},
		},
		"health checks of machines are read from both": {annotations: set(MachineHealthCheckTimeoutAnnotation)},
		"those that name a container":                  {annotations: set(ResourceRequestOverrideAnnotationPrefix + "/etcd.etcd")},
		"what is so without them":                      {annotations: set("hypershift.openshift.io/disable-profiling")},
		"what this version does not have": {
			annotations: set("hypershift.openshift.io/topology", "idpoverrides.hypershift.openshift.io/github", "oauth.hypershift.openshift.io/login-url-override"),
			ofClus:      []string{"hypershift.openshift.io/topology", "idpoverrides.hypershift.openshift.io/github", "oauth.hypershift.openshift.io/login-url-override"},
			ofPool:      []string{"hypershift.openshift.io/topology", "idpoverrides.hypershift.openshift.io/github", "oauth.hypershift.openshift.io/login-url-override"},
		},
		"misspelt ones": {
			annotations: set("hypershift.openshift.io/restart-dat"),
			ofClus:      []string{"hypershift.openshift.io/restart-dat"},
			ofPool:      []string{"hypershift.openshift.io/restart-dat"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			hc, np := &HostedCluster{}, &NodePool{}
			hc.Annotations, np.Annotations = c.annotations, c.annotations
			if got := hc.AnnotationsNotActedOn(); !slices.Equal(got, c.ofClus) {
				t.Errorf("of a HostedCluster: %q, want %q", got, c.ofClus)
			}
			if got := np.AnnotationsNotActedOn(); !slices.Equal(got, c.ofPool) {
				t.Errorf("of a NodePool: %q, want %q", got, c.ofPool)
			}
		})
	}
	for _, table := range []map[string]string{UnsupportedAnnotations(), UnsupportedAnnotationPrefixes(), InherentAnnotations()} {
		for key := range table {
			if slices.Contains(AnnotationsOfHostedClusters(), key) || slices.Contains(AnnotationsOfNodePools(), key) {
				t.Errorf("%s is acted upon", key)
			}
		}
	}
}
