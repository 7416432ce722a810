package cluster

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/lab/images"
)

// Lab is a running lab.
type Lab struct {
	// Dir contains all files of the lab; empty for an existing cluster.
	Dir string
	// Kubeconfig is the kubeconfig of the management cluster's administrator. Config is its content.
	Kubeconfig string
	Config     *rest.Config
	// Images are the images of every lab.
	Images images.Set
	// AWS is the emulator, and Management the account of the management cluster; nil without a cloud.
	AWS        *awsemulator.Emulator
	Management *awsemulator.Management

	http   *http.Client
	second bool // it is the second management cluster
}

// Find returns the lab of these options, which must be running.
func Find(ctx context.Context, o Options) (*Lab, error) {
	if existing() {
		return useExisting(ctx, o)
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s, err := readState(o.Dir)
	if err != nil {
		return nil, err
	}
	if s == nil || !s.alive() {
		return nil, fmt.Errorf("no lab runs in %s", o.Dir)
	}
	lab := open(o.Dir)
	return lab, lab.connect(ctx)
}

func open(dir string) *Lab {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", Socket(dir))
	}
	return &Lab{Dir: dir, Kubeconfig: Kubeconfig(dir), http: &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

// connect prepares the clients of a running lab.
func (l *Lab) connect(ctx context.Context) error {
	status, err := l.Status(ctx)
	if err != nil {
		return err
	}
	if cloud := status.Cloud; cloud != nil {
		l.AWS, l.Management = awsemulator.Connect(cloud.Endpoint, awsemulator.Options{}), cloud.Management
	}
	return l.readKubeconfig()
}

func (l *Lab) readKubeconfig() error {
	config, err := clientcmd.BuildConfigFromFlags("", l.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig of the lab: %w", err)
	}
	// The rate limits of client-go protect a shared API server; this one is not shared.
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	l.Config = config
	return nil
}

func (l *Lab) path(elements ...string) string {
	return filepath.Join(append([]string{l.Dir}, elements...)...)
}

// Down stops the lab and removes it. Of a second management cluster it removes only that cluster, whose load balancers and endpoint
// services stay in AWS, as they do when an EKS cluster is deleted: delete its hosted clusters before.
func (l *Lab) Down(ctx context.Context) error {
	if l.http == nil {
		return nil // an existing cluster stays
	}
	if l.second {
		return l.ask(ctx, http.MethodDelete, "/second", nil, nil)
	}
	return Down(ctx, Options{Dir: l.Dir})
}

// Status returns the state of the lab.
func (l *Lab) Status(ctx context.Context) (*Status, error) {
	status := &Status{}
	return status, l.ask(ctx, http.MethodGet, "/status", nil, status)
}

// AddMachine adds a machine and turns it on. Its node becomes ready some seconds later.
func (l *Lab) AddMachine(ctx context.Context, m MachineOptions) error {
	m.Second = l.second && m.Join == ""
	return l.ask(ctx, http.MethodPost, "/machines", m, nil)
}

// StartMachine turns a machine on again.
func (l *Lab) StartMachine(ctx context.Context, name string) error {
	return l.ask(ctx, http.MethodPost, "/machines/"+name+"/start", nil, nil)
}

// StopMachine shuts a machine down gracefully; its disk stays. EC2 reports its instance as stopped.
func (l *Lab) StopMachine(ctx context.Context, name string) error {
	return l.ask(ctx, http.MethodPost, "/machines/"+name+"/stop", nil, nil)
}

// ForceStopMachine cuts the power of a machine; its disk stays. EC2 reports its instance as stopped, as after StopInstances with Force.
func (l *Lab) ForceStopMachine(ctx context.Context, name string) error {
	return l.ask(ctx, http.MethodPost, "/machines/"+name+"/force-stop", nil, nil)
}

// KillMachine cuts the power of a machine; its disk stays. EC2 reports its instance as running, as long as it does not notice that a host fails.
func (l *Lab) KillMachine(ctx context.Context, name string) error {
	return l.ask(ctx, http.MethodPost, "/machines/"+name+"/kill", nil, nil)
}

// SetClock makes the clock of a running machine wrong by a duration, which is positive if it is fast, or right again by 0. Programs that start on
// the machine later have it, too (test/lab/clock).
func (l *Lab) SetClock(ctx context.Context, name string, by time.Duration) error {
	return l.ask(ctx, http.MethodPost, "/machines/"+name+"/clock?by="+by.String(), nil, nil)
}

// RemoveMachine removes a machine with its disk. Its Node object stays, as the Node of an EC2 instance does.
func (l *Lab) RemoveMachine(ctx context.Context, name string) error {
	return l.ask(ctx, http.MethodDelete, "/machines/"+name, nil, nil)
}

// WaitForNode waits until a node of the management cluster is ready.
func (l *Lab) WaitForNode(ctx context.Context, name string) error {
	client, err := kubernetes.NewForConfig(l.Config)
	if err != nil {
		return fmt.Errorf("waiting for node %s: %w", name, err)
	}
	err = until(ctx, func() (bool, error) {
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		return err == nil && Ready(node), err
	})
	if err != nil {
		return fmt.Errorf("waiting for node %s: %w", name, err)
	}
	return nil
}

// until polls until the result is true. When the time is over, it returns the last error.
func until(ctx context.Context, ask func() (bool, error)) error {
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		yes, err := ask()
		if yes {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-again.C:
		}
	}
}

// Ready reports whether a node is ready.
func Ready(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// progress reports the steps of the start, from the first one on, until the lab runs.
func (l *Lab) progress(ctx context.Context, say func(string)) error {
	body, err := l.send(ctx, http.MethodGet, "/progress", nil)
	if err != nil {
		return err
	}
	defer body.Close()
	for lines := bufio.NewScanner(body); lines.Scan(); {
		var step Step
		if err := json.Unmarshal(lines.Bytes(), &step); err != nil {
			return fmt.Errorf("reading the progress of the supervisor: %w", err)
		}
		if step.Text != "" {
			say(step.Text)
		}
		if step.Done {
			return nil
		}
	}
	return errors.New("the supervisor has ended")
}

func (l *Lab) ask(ctx context.Context, method, path string, question, answer any) error {
	body, err := l.send(ctx, method, path, question)
	if err != nil {
		return err
	}
	defer body.Close()
	if answer == nil {
		return nil
	}
	if err := json.NewDecoder(body).Decode(answer); err != nil {
		return fmt.Errorf("calling %s of the supervisor: %w", path, err)
	}
	return nil
}

func (l *Lab) send(ctx context.Context, method, path string, question any) (io.ReadCloser, error) {
	if l.http == nil {
		return nil, errors.New("an existing cluster has no supervisor to add or remove machines")
	}
	text, err := json.Marshal(question)
	if err != nil {
		return nil, fmt.Errorf("calling the supervisor: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://lab"+path, bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("calling the supervisor: %w", err)
	}
	resp, err := l.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("calling the supervisor: %w", err)
	}
	if resp.StatusCode >= http.StatusBadRequest {
		defer resp.Body.Close()
		reason, err := io.ReadAll(resp.Body)
		return nil, errors.Join(errors.New(strings.TrimSpace(string(reason))), err)
	}
	return resp.Body, nil
}
