package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
)

// status prints the processes, machines and endpoints of the lab, and how to use them.
func status(ctx context.Context, a *arguments) error {
	if _, err := a.words(0); err != nil {
		return err
	}
	lab, err := cluster.Find(ctx, a.options())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	there, err := lab.Status(ctx)
	if err != nil {
		return err
	}
	nodes, err := nodesOf(ctx, lab)
	if err != nil {
		return err
	}
	var second *cluster.Lab
	if there.Second != nil {
		if second, err = lab.FindSecond(ctx); err != nil {
			return err
		}
		more, err := nodesOf(ctx, second)
		if err != nil {
			return err
		}
		maps.Copy(nodes, more) // machines of both have different names
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "PROCESS\tSTATE\tSINCE\tRESTARTS\tLOG")
	for _, p := range there.Processes {
		fmt.Fprintf(out, "%s\t%s\t%s\t%d\t%s\n", p.Name, word(p.Running, "running", "ended"), time.Since(p.Since).Round(time.Second), p.Restarts, p.Log)
	}
	fmt.Fprintf(out, "registry\t%s\t\t\t\n", registry(ctx))
	fmt.Fprintln(out, "\nMACHINE\tSTATE\tNODE\tZONE\tADDRESS\tLOG")
	for _, m := range there.Machines {
		node := nodes[m.Name]
		if m.Join != "" {
			node = "of another cluster"
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\n", m.Name, word(m.Running, "on", "off"), node, m.Zone, m.Address, m.Log)
	}
	if c := there.Cloud; c != nil {
		fmt.Fprintln(out, "\nCLOUD\tADDRESS")
		fmt.Fprintf(out, "AWS emulator\t%s\nDNS\t%s\n", c.Endpoint, c.DNS)
		for _, b := range c.LoadBalancers {
			fmt.Fprintf(out, "%s\t%s\n", b.Host, b.Address)
		}
		for _, trouble := range c.Trouble {
			fmt.Fprintf(out, "trouble\t%s\n", trouble)
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if second != nil {
		fmt.Printf("\nsecond management cluster: export KUBECONFIG=%s\n", second.Kubeconfig)
	}
	fmt.Printf("\nexport KUBECONFIG=%s\nimages: push to %s, over plain HTTP; pods use the same name\n", lab.Kubeconfig, cluster.Registry)
	return nil
}

// nodesOf returns for each node whether it is ready.
func nodesOf(ctx context.Context, lab *cluster.Lab) (map[string]string, error) {
	client, err := kubernetes.NewForConfig(lab.Config)
	if err != nil {
		return nil, fmt.Errorf("reading nodes: %w", err)
	}
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading nodes: %w", err)
	}
	states := map[string]string{}
	for _, n := range list.Items {
		states[n.Name] = word(cluster.Ready(&n), "Ready", "NotReady")
	}
	return states, nil
}

func registry(ctx context.Context) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+cluster.Registry+"/v2/", nil)
	if err != nil {
		return err.Error()
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // only the response matters
	return resp.Status
}

func word(yes bool, this, that string) string {
	if yes {
		return this
	}
	return that
}
