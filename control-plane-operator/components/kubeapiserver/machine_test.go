package kubeapiserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/certificates"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/logrelay"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/internal/certsecret"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/fixture/process"
)

// TestMain runs the log relay instead of the tests if the arguments are those of the relay.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != logrelay.Command {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	relay, err := logrelay.Parse(os.Args[2:])
	if err == nil {
		err = relay.Run(ctx)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A machine runs the rendered components as processes. Mounts are directories, and ports and names are on loopback.
type machine struct {
	t   *testing.T
	env *target.ControlPlane
	dir string
	// sockets is a directory with a short name: the path of a socket has 107 bytes at most.
	sockets  string
	programs map[string]string
	// replace maps strings in arguments and files.
	replace map[string]string
	running []*process.Process
	// stdout and stderr replace the log file of the API server. With them, the log relay runs it.
	stdout, stderr *os.File
	// probes are the addresses for the probes of etcd's members, by name.
	probes map[string]string
}

func newMachine(t *testing.T, env *target.ControlPlane) *machine {
	programs, err := pinned.Ensure(t.Context(), os.Stderr, names.Etcd, names.KubeAPIServer)
	m := &machine{t: t, env: env, dir: t.TempDir(), programs: programs, replace: map[string]string{}, probes: map[string]string{}}
	m.must(err)
	m.sockets, err = os.MkdirTemp("", "kms-")
	m.must(err)
	t.Cleanup(func() {
		_ = os.RemoveAll(m.sockets)
		for _, p := range slices.Backward(m.running) {
			p.Kill()
		}
	})
	return m
}

// free returns an unused loopback address.
func (m *machine) free() string {
	m.t.Helper()
	port, err := process.FreePort()
	m.must(err)
	return fmt.Sprintf("localhost:%d", port)
}

// start runs the first container of a component's pod and waits until it is ready.
func (m *machine) start(c component.Component[*target.ControlPlane], ready string, client *http.Client) {
	m.t.Helper()
	m.ready(m.run(c, c.Name, nil), ready, client)
}

// run gets the name of the pod, and files that its init containers have written.
func (m *machine) run(c component.Component[*target.ControlPlane], name string, files map[string]string) *process.Process {
	m.t.Helper()
	objs, err := component.Render(c, m.env)
	m.must(err)
	pod := podOf(objs)
	command := pod.Containers[0].Command
	return m.runContainer(objs, pod.Containers[0], m.programs[command[len(command)-1]], name, files)
}

// runContainer runs a container of the pod of the rendered objects as a process.
func (m *machine) runContainer(objs []client.Object, c corev1.Container, program, name string, files map[string]string) *process.Process {
	m.t.Helper()
	volumes := podOf(objs).Volumes
	mounts := map[string]string{}
	for _, mount := range c.VolumeMounts {
		i := slices.IndexFunc(volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
		source := corev1.Volume{} // the source of a volume claim
		if i >= 0 {
			source = volumes[i]
		}
		mounts[mount.MountPath] = m.volume(name, mount.Name, source, objs)
	}
	for file, text := range files {
		m.must(os.WriteFile(filepath.Join(mounts[filepath.Dir(file)], filepath.Base(file)), []byte(text), 0o600))
	}
	for from, to := range mounts {
		m.replace[from+"/"] = to + "/"
	}
	for _, to := range mounts {
		m.rewrite(to)
	}
	var args []string
	for _, arg := range c.Args {
		args = append(args, m.local(arg))
	}
	for from := range mounts {
		delete(m.replace, from+"/")
	}
	spec := process.Spec{Name: name, Path: program, Args: args, Log: m.log(name)}
	// A relay that is killed ends before its program, which still has its port for a moment: only tests of the outputs use it.
	if m.stdout != nil && slices.Contains(c.Command, logrelay.Command) {
		self, err := os.Executable()
		m.must(err)
		spec.Path, spec.Args = self, append([]string{logrelay.Command, "--", program}, args...)
		spec.Stdout, spec.Stderr = m.stdout, m.stderr
	}
	p, err := process.Start(spec)
	m.must(err)
	m.running = append(m.running, p)
	return p
}

func (m *machine) ready(p *process.Process, ready string, client *http.Client) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), 2*time.Minute)
	defer cancel()
	if err := p.Ready(ctx, client, ready); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) log(name string) string { return filepath.Join(m.dir, name+".log") }

// volume writes the content of a volume.
func (m *machine) volume(pod, name string, v corev1.Volume, objs []client.Object) string {
	m.t.Helper()
	dir := filepath.Join(m.dir, pod, name)
	if name == "kms-sockets" || name == "konnectivity-socket" {
		dir = m.socketsOf(pod)
	}
	m.must(os.MkdirAll(dir, 0o700))
	content := map[string][]byte{}
	var items []corev1.KeyToPath
	switch {
	case v.Secret != nil:
		content, items = m.secret(v.Secret.SecretName, objs), v.Secret.Items
	case v.ConfigMap != nil:
		content, items = m.configMap(v.ConfigMap.Name, objs), v.ConfigMap.Items
	}
	if len(items) == 0 {
		for key := range content {
			items = append(items, corev1.KeyToPath{Key: key, Path: key})
		}
	}
	for _, item := range items {
		m.must(os.WriteFile(filepath.Join(dir, item.Path), content[item.Key], 0o600))
	}
	return dir
}

func (m *machine) socketsOf(pod string) string { return filepath.Join(m.sockets, pod) }

func (m *machine) secret(name string, objs []client.Object) map[string][]byte {
	for _, obj := range objs {
		if s, ok := obj.(*corev1.Secret); ok && s.Name == name {
			return s.Data
		}
	}
	if m.env.Secrets[name] == nil {
		m.t.Fatalf("nobody makes Secret %s", name)
	}
	return m.env.Secrets[name].Data
}

func (m *machine) configMap(name string, objs []client.Object) map[string][]byte {
	content := map[string][]byte{}
	for _, obj := range append(objs, m.env.ConfigMaps[name]) {
		if cm, ok := obj.(*corev1.ConfigMap); ok && cm != nil && cm.Name == name {
			for key, text := range cm.Data {
				content[key] = []byte(text)
			}
		}
	}
	if len(content) == 0 {
		m.t.Fatalf("nobody makes ConfigMap %s", name)
	}
	return content
}

// rewrite replaces addresses in the directory by loopback addresses.
func (m *machine) rewrite(dir string) {
	m.t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	m.must(err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		m.must(err)
		m.must(os.WriteFile(file, []byte(m.local(string(text))), 0o600))
	}
}

// local replaces addresses by loopback addresses: once, the longest match first.
func (m *machine) local(text string) string {
	var pairs []string
	for _, from := range slices.SortedFunc(maps.Keys(m.replace), func(a, b string) int { return len(b) - len(a) }) {
		pairs = append(pairs, from, m.replace[from])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

func (m *machine) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// podOf returns the pod of the workload, which is the last object.
func podOf(objs []client.Object) corev1.PodSpec {
	if s, ok := objs[len(objs)-1].(*appsv1.StatefulSet); ok {
		return s.Spec.Template.Spec
	}
	return objs[len(objs)-1].(*appsv1.Deployment).Spec.Template.Spec
}

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(hyperv1.AddToScheme(s))
	return s
}()

// certify gives env the certificates of its control plane and the key that
// signs its tokens.
func certify(t *testing.T, env *target.ControlPlane) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	cluster := crashtest.NewCluster(crashtest.Options{
		Scheme: scheme, Kinds: []client.ObjectList{&hyperv1.HostedControlPlaneList{}, &corev1.SecretList{}, &corev1.ConfigMapList{}},
		WithStatus: []client.Object{&hyperv1.HostedControlPlane{}},
	})
	cluster.Create(t, env.HCP.DeepCopy())
	hcp := &hyperv1.HostedControlPlane{}
	must(cluster.Admin().Get(t.Context(), client.ObjectKeyFromObject(env.HCP), hcp))
	certs := certificates.New(certificates.Options{
		Client: cluster.Client(), Reader: cluster.Client(), Scheme: scheme, Recorder: events.NewFakeRecorder(100), Clock: clock.RealClock{},
	})
	_, _, err := certs.Ensure(t.Context(), hcp, certificates.Facts{API: env.API, Konnectivity: env.Konnectivity})
	must(err)
	secrets, configMaps := &corev1.SecretList{}, &corev1.ConfigMapList{}
	must(cluster.Admin().List(t.Context(), secrets))
	must(cluster.Admin().List(t.Context(), configMaps))
	for i := range secrets.Items {
		env.Secrets[secrets.Items[i].Name] = &secrets.Items[i]
	}
	certsecret.Expand(env.Secrets)
	for i := range configMaps.Items {
		env.ConfigMaps[configMaps.Items[i].Name] = &configMaps.Items[i]
	}
	certsecret.ExpandBundles(env.ConfigMaps)
	private, public, err := webidentity.GenerateKey()
	must(err)
	env.Secrets[names.ServiceAccountSigningKey] = &corev1.Secret{Data: map[string][]byte{
		names.ServiceAccountPrivateKeyFile: private, names.ServiceAccountPublicKeyFile: public,
	}}
}

// master is a client with all permissions at the API server at host.
func master(t *testing.T, env *target.ControlPlane, host string) *rest.Config {
	t.Helper()
	signer, err := pki.DecodeSigner(env.Secrets[names.ClientSigner].Data)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := signer.Current.Issue(pki.Request{User: "test", Groups: []string{"system:masters"}, Usage: pki.Client}, pki.DefaultTerms, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return &rest.Config{Host: "https://" + host, QPS: -1, TLSClientConfig: rest.TLSClientConfig{
		CAData: []byte(env.ConfigMapData(names.RootCA, pki.TrustKey)), CertData: leaf.CertPEM, KeyData: leaf.KeyPEM,
	}}
}

// trusting is an anonymous client that trusts our servers.
func trusting(env *target.ControlPlane) *http.Client {
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM([]byte(env.ConfigMapData(names.RootCA, pki.TrustKey)))
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}}
}
