package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/fixture"
	"github.com/hosted-control-planes/hypershift/test/fixture/process"
	"github.com/hosted-control-planes/hypershift/test/lab/bench/report"
	"github.com/hosted-control-planes/hypershift/test/lab/images"
)

// A floor is a control plane without any of our code, on the same machine and in the same run: the rest of the time of a hosted control
// plane is the cost of our code.
//
//	processes  etcd and kube-apiserver, started at once with the flags of floor.yaml
//	manifests  floor.yaml as pods of the lab, applied at once, with a load balancer

//go:embed floor.yaml
var floorManifests string

// floorServer is the name of the API server in certificates.
const floorServer = "kube-apiserver"

// floorPatience is the timeout of the start of a floor.
const floorPatience = 5 * time.Minute

// bareStarts is how often the processes are started.
const bareStarts = 3

// floor holds the credentials of a control plane, which exist before it starts.
type floor struct {
	// files are the files of the directory pki.
	files map[string][]byte
	// trust, cert and key are the credentials of an administrator.
	trust, cert, key []byte
}

// newFloor makes the credentials of a control plane. etcd are the names of its etcd. server is the API server for its controllers.
func newFloor(server string, etcd ...string) (*floor, error) {
	now := time.Now()
	authority, err := pki.NewAuthority("floor", now)
	if err != nil {
		return nil, err
	}
	trust := pki.Bundle(authority.Certificate)
	f := &floor{files: map[string][]byte{"ca.crt": trust}, trust: trust}
	for name, request := range map[string]pki.Request{
		"etcd":        {User: "etcd", Usage: pki.Server | pki.Client, Hosts: etcd},
		"etcd-client": {User: "kube-apiserver", Usage: pki.Client},
		"apiserver":   {User: "kube-apiserver", Usage: pki.Server, Hosts: []string{floorServer, "127.0.0.1"}},
	} {
		leaf, err := authority.Issue(request, pki.DefaultTerms, now)
		if err != nil {
			return nil, err
		}
		f.files[name+".crt"], f.files[name+".key"] = leaf.CertPEM, leaf.KeyPEM
	}
	manager, err := authority.Issue(pki.Request{User: "system:kube-controller-manager", Usage: pki.Client}, pki.DefaultTerms, now)
	if err != nil {
		return nil, err
	}
	if f.files["controller-manager.kubeconfig"], err = pki.Kubeconfig(server, trust, manager); err != nil {
		return nil, err
	}
	admin, err := authority.Issue(pki.Request{User: "admin", Groups: []string{"system:masters"}, Usage: pki.Client}, pki.DefaultTerms, now)
	if err != nil {
		return nil, err
	}
	f.cert, f.key = admin.CertPEM, admin.KeyPEM
	f.files["service-account.key"], f.files["service-account.pub"], err = webidentity.GenerateKey()
	return f, err
}

// config is the configuration of an administrator, for an API server at host:port.
func (f *floor) config(address string) *rest.Config {
	return &rest.Config{
		Host: "https://" + address, Timeout: time.Second, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{ServerName: floorServer, CAData: f.trust, CertData: f.cert, KeyData: f.key},
	}
}

// ready reports whether /readyz of an API server answers 200.
func ready(config *rest.Config) bool {
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		return false
	}
	defer c.CloseIdleConnections()
	resp, err := c.Get(config.Host + "/readyz")
	return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
}

// bare is a running etcd with a kube-apiserver, as processes on loopback.
type bare struct {
	*floor
	dir       string
	address   string // of the API server
	processes []*process.Process
	// seconds is the time from the start of the processes to /readyz.
	seconds float64
}

// startBare starts etcd and kube-apiserver at once, with the flags of floor.yaml, and waits for /readyz.
func startBare(ctx context.Context) (_ *bare, err error) {
	programs, err := pinned.Ensure(ctx, os.Stderr, "etcd", "kube-apiserver")
	if err != nil {
		return nil, err
	}
	b := &bare{}
	if b.dir, err = os.MkdirTemp("", "hypershift-bench-floor-"); err != nil {
		return nil, fmt.Errorf("making the directory of the floor: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.stop())
		}
	}()
	variables := floorVariables("floor", map[string]string{"PKI": b.dir, "DATA": b.dir, "LISTEN": "127.0.0.1", "ETCD_HOST": "127.0.0.1"})
	for _, name := range []string{"ETCD_PORT", "PEER_PORT", "METRICS_PORT", "API_PORT"} {
		port, err := process.FreePort()
		if err != nil {
			return nil, err
		}
		variables[name] = strconv.Itoa(port)
	}
	b.address = net.JoinHostPort("127.0.0.1", variables["API_PORT"])
	if b.floor, err = newFloor("https://"+b.address, "127.0.0.1"); err != nil {
		return nil, err
	}
	for name, content := range b.files {
		if err := os.WriteFile(filepath.Join(b.dir, name), content, 0o600); err != nil {
			return nil, fmt.Errorf("writing the credentials of the floor: %w", err)
		}
	}
	flags, err := floorFlags(variables)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	for _, name := range []string{"etcd", "kube-apiserver"} {
		p, err := process.Start(process.Spec{Name: name, Path: programs[name], Args: flags[name], Dir: b.dir, Log: filepath.Join(b.dir, name+".log")})
		if err != nil {
			return nil, err
		}
		b.processes = append(b.processes, p)
	}
	config := b.config(b.address)
	err = until(ctx, floorPatience, func(context.Context) (bool, error) {
		for _, p := range b.processes {
			select {
			case <-p.Done():
				return false, fmt.Errorf("%s has ended: %w\n%s", p.Name, p.Err(), process.Tail(p.Log, 10))
			default:
			}
		}
		return ready(config), nil
	})
	b.seconds = time.Since(began).Seconds()
	return b, err
}

// stop ends the processes and removes their files.
func (b *bare) stop() error {
	for i := len(b.processes) - 1; i >= 0; i-- {
		b.processes[i].Stop(10 * time.Second)
	}
	return os.RemoveAll(b.dir)
}

// bareStart returns the seconds of one start of the processes.
func bareStart(ctx context.Context) (float64, error) {
	b, err := startBare(ctx)
	if err != nil {
		return 0, err
	}
	return b.seconds, b.stop()
}

// bareProcesses measures the processes alone, on a machine without a lab.
func bareProcesses(ctx context.Context, _ string) ([]report.Row, error) {
	var all []float64
	for range bareStarts {
		seconds, err := bareStart(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, seconds)
	}
	return bareProcessesRows(all), nil
}

func bareProcessesRows(seconds []float64) []report.Row {
	return []report.Row{{
		What: "etcd and kube-apiserver as processes, started at once", Note: "the floor of every control plane on this machine; credentials are there; three times",
		Figures: []report.Figure{report.Info("start → /readyz", "s", seconds...)},
	}}
}

// floorVariables are the values of floor.yaml: the values of a namespace of the lab, some of them replaced.
func floorVariables(namespace string, instead map[string]string) map[string]string {
	variables := map[string]string{
		"NAMESPACE": namespace, "PKI": "/etc/kubernetes/pki", "DATA": "/var/lib/etcd", "LISTEN": "0.0.0.0", "ETCD_HOST": "etcd." + namespace + ".svc",
		"ETCD_PORT": "2379", "PEER_PORT": "2380", "METRICS_PORT": "2381", "API_PORT": "6443",
		"ETCD_IMAGE": "etcd", "API_SERVER_IMAGE": "kube-apiserver", "CONTROLLER_MANAGER_IMAGE": "kube-controller-manager",
	}
	maps.Copy(variables, instead)
	return variables
}

// floorFlags are the arguments of the containers of floor.yaml, by the name of the container.
func floorFlags(variables map[string]string) (map[string][]string, error) {
	objects, err := floorObjects(variables)
	if err != nil {
		return nil, err
	}
	flags := map[string][]string{}
	for _, o := range objects {
		containers, _, err := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		if err != nil {
			return nil, fmt.Errorf("reading the containers of %s: %w", o.GetName(), err)
		}
		for _, c := range containers {
			container, ok := c.(map[string]any)
			if !ok {
				return nil, fmt.Errorf("a container of %s is no object", o.GetName())
			}
			args, _, err := unstructured.NestedStringSlice(container, "args")
			if err != nil {
				return nil, fmt.Errorf("reading the arguments of %s: %w", o.GetName(), err)
			}
			flags[fmt.Sprint(container["name"])] = args
		}
	}
	return flags, nil
}

func floorObjects(variables map[string]string) ([]*unstructured.Unstructured, error) {
	text, err := fixture.Substitute(floorManifests, variables)
	if err != nil {
		return nil, err
	}
	return fixture.Decode(text)
}

// applyFloor applies namespace, credentials and manifests, all at once.
func applyFloor(ctx context.Context, c client.Client, f *floor, variables map[string]string) error {
	objects, err := floorObjects(variables)
	if err != nil {
		return err
	}
	namespace := variables["NAMESPACE"]
	all := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pki"}, Data: f.files},
	}
	for _, o := range objects {
		all = append(all, o)
	}
	for _, o := range all {
		if err := c.Create(ctx, o); err != nil {
			return fmt.Errorf("creating %s: %w", client.ObjectKeyFromObject(o), err)
		}
	}
	return nil
}

// liveManifests starts n control planes of hand-written manifests at once, returns the seconds until /readyz of the last one answers
// its user through its load balancer, and removes them.
func (b *labBench) liveManifests(ctx context.Context, n int) (seconds float64, err error) {
	version := b.Versions[0]
	inLab := map[string]string{"ETCD_IMAGE": b.Images["etcd"]}
	for variable, name := range map[string]string{
		"API_SERVER_IMAGE": "kube-apiserver", "CONTROLLER_MANAGER_IMAGE": "kube-controller-manager",
	} {
		inLab[variable] = b.Images[images.Key(name, version)]
	}
	floors := map[string]*floor{}
	for range n {
		b.made++
		namespace := fmt.Sprintf("bench-floor-%d", b.made)
		if floors[namespace], err = newFloor("https://"+floorServer+":443", "etcd."+namespace+".svc"); err != nil {
			return 0, err
		}
	}
	defer func() {
		err = errors.Join(err, b.removeNamespaces(context.WithoutCancel(ctx), slices.Collect(maps.Keys(floors))))
	}()
	began := time.Now()
	for namespace, f := range floors {
		if err := applyFloor(ctx, b.management, f, floorVariables(namespace, inLab)); err != nil {
			return 0, err
		}
	}
	for namespace, f := range floors {
		address := ""
		if err := untilSeen(ctx, floorPatience, func(ctx context.Context) (bool, error) {
			if address == "" {
				address = b.balancer(ctx, client.ObjectKey{Namespace: namespace, Name: "kube-apiserver"})
			}
			return address != "" && ready(f.config(net.JoinHostPort(address, "443"))), nil
		}); err != nil {
			return 0, fmt.Errorf("%s: %w", namespace, err)
		}
	}
	seconds = time.Since(began).Seconds()
	fmt.Fprintf(os.Stderr, "%d of manifests at once: %.2f s\n", n, seconds)
	return seconds, nil
}

// balancer is the address of the load balancer of a Service; empty if it carries no traffic yet.
func (b *labBench) balancer(ctx context.Context, service client.ObjectKey) string {
	svc := &corev1.Service{}
	if err := b.management.Get(ctx, service, svc); err != nil || len(svc.Status.LoadBalancer.Ingress) == 0 {
		return ""
	}
	status, err := b.Status(ctx)
	if err != nil || status.Cloud == nil {
		return ""
	}
	for _, lb := range status.Cloud.LoadBalancers {
		if strings.EqualFold(lb.Host, svc.Status.LoadBalancer.Ingress[0].Hostname) {
			return lb.Address.String()
		}
	}
	return ""
}

// removeNamespaces deletes namespaces and waits until they are gone. A namespace that cannot be deleted does not keep the others.
func (b *labBench) removeNamespaces(ctx context.Context, all []string) (err error) {
	var left []string
	for _, name := range all {
		switch failed := b.management.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); {
		case failed == nil:
			left = append(left, name)
		case !apierrors.IsNotFound(failed):
			err = errors.Join(err, fmt.Errorf("deleting namespace %s: %w", name, failed))
		}
	}
	if timeout := untilSeen(ctx, floorPatience, func(ctx context.Context) (bool, error) {
		left = slices.DeleteFunc(left, func(name string) bool {
			return apierrors.IsNotFound(b.management.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{}))
		})
		return len(left) == 0, nil
	}); timeout != nil {
		err = errors.Join(err, fmt.Errorf("waiting for the deletion of the namespaces %s: %w", strings.Join(left, ", "), timeout))
	}
	return err
}
