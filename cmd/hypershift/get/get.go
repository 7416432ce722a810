// Package get implements the commands `get clusters` and `get nodepools`.
package get

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
	"github.com/hosted-control-planes/hypershift/internal/oneline"
)

const long = `The columns are those of kubectl get: the API server makes them. docs/conditions.md has what to do for each message.`

// resource is a kind of the API.
type resource struct {
	kind, plural, title string
	list                client.ObjectList
}

var (
	clusters  = resource{"HostedCluster", "hostedclusters", "hosted clusters", &hyperv1.HostedClusterList{}}
	nodePools = resource{"NodePool", "nodepools", "node pools", &hyperv1.NodePoolList{}}
)

type options struct {
	management.Flags
	resource
	namespace, output, cluster string
	all                        bool
	names                      []string
}

// NewClusters returns `get clusters`.
func NewClusters(env operation.Environment) *cobra.Command {
	o := &options{resource: clusters}
	c := o.command(env, "clusters", "cluster", "hostedclusters", "hostedcluster", "hc")
	c.Example = "  hypershift get clusters -A\n  hypershift get clusters demo -o yaml"
	return c
}

// NewNodePools returns `get nodepools`.
func NewNodePools(env operation.Environment) *cobra.Command {
	o := &options{resource: nodePools}
	c := o.command(env, "nodepools", "nodepool", "np")
	c.Example = "  hypershift get nodepools --cluster demo -o wide"
	c.Flags().StringVar(&o.cluster, "cluster", "", "only the node pools of this HostedCluster")
	return c
}

// outputs are the values of --output.
var outputs = []string{"wide", "yaml", "json", "name"}

func (o *options) command(env operation.Environment, use string, aliases ...string) *cobra.Command {
	c := operation.Command(use+" [NAME...]", "List "+o.title, long, func(ctx context.Context) error { return o.run(ctx, env) })
	c.Aliases = aliases
	c.Args = func(_ *cobra.Command, args []string) error {
		o.names = args
		return nil
	}
	c.ValidArgsFunction = o.Names(o.list, &o.namespace)
	o.Add(c)
	o.AddNamespace(c, &o.namespace, "namespace of the "+o.title)
	c.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "those of all namespaces")
	c.Flags().StringVarP(&o.output, "output", "o", "", "wide, yaml, json or name (default: a table)")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(outputs, cobra.ShellCompDirectiveNoFileComp)) // fails only for a flag that does not exist
	return c
}

func (o *options) check() error {
	switch {
	case o.output != "" && !slices.Contains(outputs, o.output):
		return errors.New("--output must be wide, yaml, json or name")
	case o.all && len(o.names) > 0:
		return errors.New("a name is in one namespace: remove --all-namespaces, or pass --namespace")
	case o.cluster != "" && len(o.names) > 0:
		return errors.New("--cluster selects node pools: remove it, or the names")
	}
	return nil
}

func (o *options) run(ctx context.Context, env operation.Environment) error {
	if err := o.check(); err != nil {
		return &operation.UsageError{Err: err}
	}
	config, err := o.Config()
	if err != nil {
		return err
	}
	api, err := restClient(config)
	if err != nil {
		return err
	}
	if o.output == "" || o.output == "wide" {
		return o.table(ctx, env, api)
	}
	items, err := o.items(ctx, api)
	if err != nil {
		return err
	}
	return o.print(env, items)
}

// restClient returns a client of the API group, without types: it reads any answer of the API server.
func restClient(config *rest.Config) (*rest.RESTClient, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath = &hyperv1.GroupVersion, "/apis"
	config.NegotiatedSerializer = serializer.NewCodecFactory(clustertree.Scheme()).WithoutConversion()
	c, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the management cluster: %w", err)
	}
	return c, nil
}

// read reads all objects, or one object after the other, in a format.
func (o *options) read(ctx context.Context, api *rest.RESTClient, accept string, each func([]byte) error) error {
	names := o.names
	if len(names) == 0 {
		names = []string{""}
	}
	for _, name := range names {
		request := api.Get().Resource(o.plural).NamespaceIfScoped(o.namespace, !o.all).SetHeader("Accept", accept)
		if name != "" {
			request = request.Name(name)
		}
		result := request.Do(ctx)
		err := result.Error() // the error of Raw has no message
		switch {
		case apierrors.IsNotFound(err) && name == "":
			return errors.New("the management cluster has no API of hypershift: install it with `hypershift install`")
		case apierrors.IsNotFound(err):
			return fmt.Errorf("there is no %s %s in namespace %s: `hypershift get %s -A` lists all", o.kind, name, o.namespace, o.plural)
		case err != nil:
			return fmt.Errorf("reading the %s: %w", o.title, err)
		}
		text, err := result.Raw()
		if err == nil {
			err = each(text)
		}
		if err != nil {
			return fmt.Errorf("reading the %s: %w", o.title, err)
		}
	}
	return nil
}

// table prints the columns of the API server:
// https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables
func (o *options) table(ctx context.Context, env operation.Environment, api *rest.RESTClient) error {
	var columns []metav1.TableColumnDefinition
	var rows []metav1.TableRow
	err := o.read(ctx, api, "application/json;as=Table;v=v1;g=meta.k8s.io", func(text []byte) error {
		var t metav1.Table
		if err := json.Unmarshal(text, &t); err != nil {
			return err
		}
		columns, rows = t.ColumnDefinitions, append(rows, t.Rows...)
		return nil
	})
	if err != nil {
		return err
	}
	if o.cluster != "" {
		i := slices.IndexFunc(columns, func(c metav1.TableColumnDefinition) bool { return c.Name == "Cluster" })
		rows = slices.DeleteFunc(rows, func(r metav1.TableRow) bool { return i < 0 || r.Cells[i] != o.cluster })
	}
	if len(rows) == 0 {
		o.nothing(env)
		return nil
	}
	w := tabwriter.NewWriter(env.Out, 0, 0, 3, ' ', 0)
	line := func(namespace string, cell func(i int) string) {
		var cells []string
		if o.all {
			cells = append(cells, namespace)
		}
		for i, column := range columns {
			if column.Priority == 0 || o.output == "wide" {
				cells = append(cells, cell(i))
			}
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	line("NAMESPACE", func(i int) string { return strings.ToUpper(columns[i].Name) })
	for _, row := range rows {
		var object metav1.PartialObjectMetadata
		if err := json.Unmarshal(row.Object.Raw, &object); err != nil {
			return fmt.Errorf("reading the %s: %w", o.title, err)
		}
		line(object.Namespace, func(i int) string {
			if i >= len(row.Cells) || row.Cells[i] == nil {
				return ""
			}
			return oneline.Of(fmt.Sprint(row.Cells[i]))
		})
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	return nil
}

// nothing reports an empty list on the standard error, because programs read the standard output.
func (o *options) nothing(env operation.Environment) {
	text := fmt.Sprintf("there are no %s in namespace %s: `hypershift get %s -A` lists all", o.title, o.namespace, o.plural)
	switch {
	case o.all:
		text = "there are no " + o.title
	case o.cluster != "":
		text = fmt.Sprintf("HostedCluster %s/%s has no node pools", o.namespace, o.cluster)
	}
	fmt.Fprintln(env.Err, text)
}

func (o *options) items(ctx context.Context, api *rest.RESTClient) ([]unstructured.Unstructured, error) {
	items := []unstructured.Unstructured{}
	err := o.read(ctx, api, "application/json", func(text []byte) error {
		var u unstructured.Unstructured
		if err := u.UnmarshalJSON(text); err != nil {
			return err
		}
		if !u.IsList() {
			items = append(items, u)
			return nil
		}
		list, err := u.ToList()
		if err == nil {
			items = append(items, list.Items...)
		}
		return err
	})
	if o.cluster != "" {
		items = slices.DeleteFunc(items, func(u unstructured.Unstructured) bool {
			name, _, _ := unstructured.NestedString(u.Object, "spec", "clusterName")
			return name != o.cluster
		})
	}
	for i := range items {
		items[i].SetManagedFields(nil) // as kubectl does
	}
	return items, err
}

func (o *options) print(env operation.Environment, items []unstructured.Unstructured) error {
	if o.output == "name" {
		for _, item := range items {
			fmt.Fprintf(env.Out, "%s.%s/%s\n", strings.ToLower(o.kind), hyperv1.GroupVersion.Group, item.GetName())
		}
		return nil
	}
	var answer any
	if len(o.names) == 1 {
		answer = items[0].Object
	} else {
		objects := make([]any, len(items))
		for i := range items {
			objects[i] = items[i].Object
		}
		answer = map[string]any{"apiVersion": "v1", "kind": "List", "items": objects}
	}
	if o.output == "json" {
		return operation.WriteJSON(env.Out, answer)
	}
	text, err := yaml.Marshal(answer)
	if err != nil {
		return fmt.Errorf("writing the %s: %w", o.title, err)
	}
	_, err = env.Out.Write(text)
	return err
}
