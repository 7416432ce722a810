package networkpolicy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// PluginName is the type of the CNI plugin, and the name of its program.
const PluginName = "networkpolicy"

// patience is the timeout for a pod's rules. After a failure, the kubelet creates the pod's network again.
const patience = 30 * time.Second

// Pod is a pod for which the CNI plugin was called.
type Pod struct {
	Namespace string       `json:"namespace"`
	Name      string       `json:"name"`
	UID       types.UID    `json:"uid"`
	Addresses []netip.Addr `json:"addresses,omitempty"`
}

// listen serves the plugin until ctx ends.
func (e *Enforcer) listen(ctx context.Context) error {
	listener, err := net.Listen("unix", e.Socket)
	if err != nil {
		return fmt.Errorf("listening for pods: %w", err)
	}
	server := &http.Server{Handler: e.handler(), ReadHeaderTimeout: patience}
	go func() { _ = server.Serve(listener) }() // until it is closed
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return nil
}

func (e *Enforcer) handler() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, do func(context.Context, Pod) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) {
			var p Pod
			err := json.NewDecoder(req.Body).Decode(&p)
			if err == nil {
				err = do(req.Context(), p)
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		})
	}
	handle("PUT /pod", e.made)
	handle("DELETE /pod", func(_ context.Context, p Pod) error { e.gone(p); return nil })
	return mux
}

// pluginConfig is the input from the runtime.
type pluginConfig struct {
	CNIVersion string          `json:"cniVersion"`
	Socket     string          `json:"socket"`
	PrevResult json.RawMessage `json:"prevResult"`
}

// RunPlugin is the CNI plugin, the last of the chain. ADD returns the result of the previous plugins after the rules of
// the pod are in the kernel.
func RunPlugin(ctx context.Context, getenv func(string) string, in io.Reader, out io.Writer) error {
	err := runPlugin(ctx, getenv, in, out)
	if err != nil {
		// The runtime reads errors from the output.
		_ = json.NewEncoder(out).Encode(map[string]any{"cniVersion": "1.0.0", "code": 999, "msg": err.Error()})
	}
	return err
}

func runPlugin(ctx context.Context, getenv func(string) string, in io.Reader, out io.Writer) error {
	command := getenv("CNI_COMMAND")
	if command == "VERSION" {
		_, err := io.WriteString(out, `{"cniVersion":"1.0.0","supportedVersions":["0.4.0","1.0.0"]}`)
		return err
	}
	var config pluginConfig
	if err := json.NewDecoder(in).Decode(&config); err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	pod := podOf(getenv("CNI_ARGS"))
	switch command {
	case "ADD":
		var err error
		if pod.Addresses, err = resultAddresses(config.PrevResult); err != nil {
			return err
		}
		if err := call(ctx, config.Socket, http.MethodPut, pod); err != nil {
			return fmt.Errorf("enforcing the NetworkPolicies of pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
		_, err = out.Write(config.PrevResult)
		return err
	case "DEL":
		// A pod can be deleted while the enforcer does not run: the next enforcer does not have its address.
		_ = call(ctx, config.Socket, http.MethodDelete, pod)
	}
	return nil
}

// podOf parses K8S_POD_NAMESPACE=...;K8S_POD_NAME=...;K8S_POD_UID=...
func podOf(args string) Pod {
	var p Pod
	for arg := range strings.SplitSeq(args, ";") {
		switch name, value, _ := strings.Cut(arg, "="); name {
		case "K8S_POD_NAMESPACE":
			p.Namespace = value
		case "K8S_POD_NAME":
			p.Name = value
		case "K8S_POD_UID":
			p.UID = types.UID(value)
		}
	}
	return p
}

// resultAddresses are the addresses that previous plugins have assigned to the pod.
func resultAddresses(result json.RawMessage) ([]netip.Addr, error) {
	var read struct {
		IPs []struct {
			Address netip.Prefix `json:"address"`
		} `json:"ips"`
	}
	if len(result) == 0 {
		return nil, errors.New("no plugin is before this one in the chain")
	}
	if err := json.Unmarshal(result, &read); err != nil {
		return nil, fmt.Errorf("reading the result of the plugins before: %w", err)
	}
	var all []netip.Addr
	for _, ip := range read.IPs {
		all = append(all, ip.Address.Addr())
	}
	return all, nil
}

// call calls the enforcer.
func call(ctx context.Context, socket, method string, p Pod) error {
	body, err := json.Marshal(p)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, method, "http://enforcer/pod", bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := client.Do(req)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	return errors.Join(err, errors.New(strings.TrimSpace(string(text))))
}
