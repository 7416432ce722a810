package podrunner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/hosted-control-planes/hypershift/test/bed/process"
)

// pod is one replica: a private directory and a process per container.
type pod struct {
	name       string
	dir        string
	spec       corev1.PodSpec
	sources    sources
	relocation relocation
	containers []*container
	tokenAt    time.Time

	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// hash identifies a pod template: a Deployment whose template changed gets new pods.
func hash(template corev1.PodTemplateSpec) (string, error) {
	content, err := json.Marshal(template)
	if err != nil {
		return "", fmt.Errorf("hashing the pod template: %w", err)
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
}

// newPod prepares everything that a pod's processes need. Nothing runs yet.
func (r *Runner) newPod(ctx context.Context, d *appsv1.Deployment, index int) (*pod, error) {
	spec := d.Spec.Template.Spec
	if len(spec.InitContainers) > 0 {
		return nil, fmt.Errorf("the pod runner does not have init containers")
	}
	serviceAccount := spec.ServiceAccountName
	if serviceAccount == "" {
		serviceAccount = "default"
	}
	p := &pod{
		name:       fmt.Sprintf("%s-%d", d.Name, index),
		dir:        filepath.Join(r.Dir, "pods", d.Namespace, fmt.Sprintf("%s-%d", d.Name, index)),
		spec:       spec,
		sources:    sources{kube: r.kube, namespace: d.Namespace, serviceAccount: serviceAccount},
		relocation: relocation{mounts: map[string]string{}, ports: map[int32]int{}},
	}
	// What an earlier pod of that name left is not for this one.
	if err := os.RemoveAll(p.dir); err != nil {
		return nil, fmt.Errorf("making the directory of pod %s: %w", p.name, err)
	}
	if err := p.assign(); err != nil {
		return nil, err
	}
	if err := p.writeKubeconfig(r); err != nil {
		return nil, err
	}
	if err := p.refresh(ctx); err != nil {
		return nil, err
	}
	for _, c := range spec.Containers {
		made, err := r.newContainer(ctx, d, p, c)
		if err != nil {
			return nil, err
		}
		p.containers = append(p.containers, made)
	}
	return p, nil
}

// assign decides where the mounts and ports of the pod are on this machine.
func (p *pod) assign() error {
	for _, c := range p.spec.Containers {
		for _, m := range c.VolumeMounts {
			p.relocation.mounts[m.MountPath] = filepath.Join(p.dir, "volumes", m.Name, m.SubPath)
		}
		for _, port := range c.Ports {
			free, err := process.FreePort()
			if err != nil {
				return err
			}
			p.relocation.ports[port.ContainerPort] = free
		}
	}
	return nil
}

// writeKubeconfig gives the pod its identity. The token is in a file of its own, because clients read that again when it changes.
func (p *pod) writeKubeconfig(r *Runner) error {
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["bed"] = &clientcmdapi.Cluster{Server: r.Config.Host, CertificateAuthorityData: r.Config.CAData, CertificateAuthority: r.Config.CAFile}
	cfg.AuthInfos["pod"] = &clientcmdapi.AuthInfo{TokenFile: p.tokenFile()}
	cfg.Contexts["bed"] = &clientcmdapi.Context{Cluster: "bed", AuthInfo: "pod", Namespace: p.sources.namespace}
	cfg.CurrentContext = "bed"
	if err := clientcmd.WriteToFile(*cfg, p.kubeconfig()); err != nil {
		return fmt.Errorf("writing the kubeconfig of pod %s: %w", p.name, err)
	}
	return nil
}

func (p *pod) kubeconfig() string { return filepath.Join(p.dir, "kubeconfig") }
func (p *pod) tokenFile() string  { return filepath.Join(p.dir, "token") }

// refresh brings the token and the volumes up to date.
func (p *pod) refresh(ctx context.Context) error {
	if time.Since(p.tokenAt) > tokenLife*time.Second/2 {
		token, err := p.sources.token(ctx)
		if err != nil {
			return err
		}
		if err := write(p.tokenFile(), []byte(token)); err != nil {
			return err
		}
		p.tokenAt = time.Now()
	}
	for _, v := range p.spec.Volumes {
		dir := filepath.Join(p.dir, "volumes", v.Name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("making volume %s: %w", v.Name, err)
		}
		files, err := p.sources.files(ctx, v)
		if err != nil {
			return err
		}
		for path, content := range files {
			// A file may name other files of the pod, as an AWS configuration names its web-identity token.
			if err := write(filepath.Join(dir, path), []byte(p.relocation.path(string(content)))); err != nil {
				return err
			}
		}
	}
	return nil
}

// write replaces a file in one step: its reader may be at it.
func write(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// newContainer turns a container of the template into a process specification.
func (r *Runner) newContainer(ctx context.Context, d *appsv1.Deployment, p *pod, c corev1.Container) (*container, error) {
	vars, err := p.sources.env(ctx, c, p.name)
	if err != nil {
		return nil, err
	}
	values := map[string]string{"PATH": os.Getenv("PATH"), "HOME": p.dir, "HOSTNAME": p.name}
	for _, v := range vars {
		values[v.Name] = p.relocation.value(expand(v.Value, values))
	}
	values["KUBECONFIG"] = p.kubeconfig()
	env := make([]string, 0, len(values)+len(r.Env))
	for name, value := range values {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)

	program, args := r.Images[c.Image].program(c)
	for i := range args {
		args[i] = p.relocation.value(expand(args[i], values))
	}

	logs := filepath.Join(r.Dir, "logs")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return nil, fmt.Errorf("making the log directory: %w", err)
	}
	made := &container{
		Spec: process.Spec{
			Name: fmt.Sprintf("%s/%s/%s", d.Namespace, p.name, c.Name),
			Path: program,
			Args: args,
			Env:  append(env, r.Env...), // of two values the last one counts
			Dir:  p.dir,
			Log:  filepath.Join(logs, fmt.Sprintf("%s_%s_%s.log", d.Namespace, p.name, c.Name)),
		},
		say:    r.say,
		notify: func() { r.notify(d) },
	}
	if made.readiness, err = newProbe(c.ReadinessProbe, c.Ports, p.relocation); err != nil {
		return nil, fmt.Errorf("readiness probe of container %s: %w", c.Name, err)
	}
	if made.liveness, err = newProbe(c.LivenessProbe, c.Ports, p.relocation); err != nil {
		return nil, fmt.Errorf("liveness probe of container %s: %w", c.Name, err)
	}
	return made, nil
}

// program finds the local binary that the container runs, and its arguments.
func (i Image) program(c corev1.Container) (path string, args []string) {
	name := i.Entrypoint
	if len(c.Command) > 0 {
		name, args = filepath.Base(c.Command[0]), c.Command[1:]
	}
	command := strings.Join(append([]string{name}, args...), " ")
	return filepath.Join(i.Bin, name), slices.Concat(args, c.Args, i.Args[command])
}

var reference = regexp.MustCompile(`\$\$|\$\(([-A-Za-z0-9_.]+)\)`)

// expand replaces $(NAME) as a kubelet does: $$ is a dollar sign, and what is not known stays.
func expand(s string, values map[string]string) string {
	return reference.ReplaceAllStringFunc(s, func(ref string) string {
		if ref == "$$" {
			return "$"
		}
		if value, ok := values[ref[2:len(ref)-1]]; ok {
			return value
		}
		return ref
	})
}

func (p *pod) start() {
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	for _, c := range p.containers {
		p.wg.Go(func() { c.run(ctx) })
	}
}

func (p *pod) stop() {
	p.cancel()
	p.wg.Wait()
}

func (p *pod) kill() {
	for _, c := range p.containers {
		c.kill()
	}
}

func (p *pod) ready() bool {
	return !slices.ContainsFunc(p.containers, func(c *container) bool { return !c.ready.Load() })
}
