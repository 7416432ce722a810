package components_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/components"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target/targettest"
	"github.com/hosted-control-planes/hypershift/internal/certsecret"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// certificates are those that the pods of a control plane mount.
var certificates = []string{
	names.APIServerCertificate, names.APIServerPrivateCertificate, names.AggregatorClientCertificate, names.KubeletClientCertificate,
	names.KonnectivityCertificate, names.EtcdServerCertificate, names.EtcdPeerCertificate, names.EtcdClientCertificate,
	names.ControllerManagerCertificate, names.ControllerManagerKubeconfig, names.SchedulerCertificate, names.SchedulerKubeconfig, names.ServiceAccountSigningKey,
}

// withCertificates returns a cluster with these certificates in own Secrets or, as far as possible, in shared ones.
func withCertificates(shared bool, contents string) *target.ControlPlane {
	env := targettest.Env()
	secret := func(name string) *corev1.Secret {
		if env.Secrets[name] == nil {
			env.Secrets[name] = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: env.HCP.Namespace, Name: name}, Data: map[string][]byte{}}
		}
		return env.Secrets[name]
	}
	for _, name := range certificates {
		data := map[string][]byte{}
		for _, key := range certsecret.Keys(name) {
			data[key] = []byte(contents + " " + name + " " + key)
		}
		if in := certsecret.SharedBy(name); shared && in != "" {
			certsecret.Put(secret(in).Data, name, data)
		} else {
			secret(name).Data = data
		}
	}
	certsecret.Expand(env.Secrets)
	for _, name := range []string{names.RootCA, names.ClientCA, names.KubeletServingCA} {
		in, key := name, pki.TrustKey
		if shared && certsecret.IsSharedBundle(name) {
			in, key = certsecret.Bundles, certsecret.Key(name, pki.TrustKey)
			delete(env.ConfigMaps, name)
		}
		if env.ConfigMaps[in] == nil {
			env.ConfigMaps[in] = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: env.HCP.Namespace, Name: in}, Data: map[string]string{}}
		}
		env.ConfigMaps[in].Data[key] = contents + " " + name
	}
	certsecret.ExpandBundles(env.ConfigMaps)
	return env
}

// mounted returns the files of all Secrets and bundles that the pods of the components mount: their content by component, volume and path. It
// also returns the components that mount a shared Secret.
func mounted(t *testing.T, env *target.ControlPlane) (files map[string]string, sharedBy map[string]string) {
	t.Helper()
	files, sharedBy = map[string]string{}, map[string]string{}
	for _, c := range components.ControlPlane {
		if c.Wanted != nil && !c.Wanted(env) {
			continue
		}
		objs, err := component.Render(c, env)
		if err != nil {
			t.Fatal(err)
		}
		template := templateOf(objs[len(objs)-1])
		files[c.Name] = template.Annotations["hypershift.openshift.io/contents"]
		for _, v := range template.Spec.Volumes {
			if v.ConfigMap != nil && env.ConfigMaps[v.ConfigMap.Name] != nil {
				data, items := env.ConfigMaps[v.ConfigMap.Name].Data, v.ConfigMap.Items
				if len(items) == 0 {
					for key := range data {
						items = append(items, corev1.KeyToPath{Key: key, Path: key})
					}
				}
				for _, i := range items {
					files[c.Name+" "+v.Name+"/"+i.Path] = data[i.Key]
				}
			}
			if v.Secret == nil || env.Secrets[v.Secret.SecretName] == nil {
				continue
			}
			data, items := env.Secrets[v.Secret.SecretName].Data, v.Secret.Items
			if len(items) == 0 {
				for key := range data {
					items = append(items, corev1.KeyToPath{Key: key, Path: key})
				}
			}
			for _, i := range items {
				files[c.Name+" "+v.Name+"/"+i.Path] = string(data[i.Key])
			}
			switch v.Secret.SecretName {
			case certsecret.Authorities, certsecret.ControlPlaneOperator:
				t.Errorf("%s mounts Secret %s", c.Name, v.Secret.SecretName)
			case certsecret.KubeAPIServer, certsecret.Etcd, certsecret.ControllerManager, certsecret.Scheduler:
				if before := sharedBy[v.Secret.SecretName]; before != "" && before != c.Name {
					t.Errorf("%s and %s mount Secret %s", before, c.Name, v.Secret.SecretName)
				}
				sharedBy[v.Secret.SecretName] = c.Name
			}
		}
	}
	return files, sharedBy
}

// Each volume contains the files of one certificate, whether its Secret is shared or not. The hash is the same, too, so that a
// certificate that a program reloads restarts no pods.
func TestPodsMountTheSameFilesFromSharedSecrets(t *testing.T) {
	own, none := mounted(t, withCertificates(false, "old"))
	shared, by := mounted(t, withCertificates(true, "old"))
	if d := cmp.Diff(own, shared); d != "" {
		t.Errorf("(-own +shared):\n%s", d)
	}
	want := map[string]string{
		certsecret.KubeAPIServer: names.KubeAPIServer, certsecret.Etcd: names.Etcd,
		certsecret.ControllerManager: names.KubeControllerManager, certsecret.Scheduler: names.KubeScheduler,
	}
	if d := cmp.Diff(want, by); d != "" || len(none) > 0 {
		t.Errorf("shared Secrets are mounted by (-want +got):\n%s\nwithout shared ones: %v", d, none)
	}
}
