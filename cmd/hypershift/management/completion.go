package management

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// completionTimeout is how long a shell waits for names. Without an answer, it offers none.
const completionTimeout = 3 * time.Second

// Names completes the first argument with the names of objects in the namespace of the command.
func (f *Flags) Names(list client.ObjectList, namespace *string) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		in := client.InNamespace(cmp.Or(*namespace, f.ContextNamespace(), defaultNamespace))
		return f.listed(c.Context(), list, client.Object.GetName, prefix, in)
	}
}

// namespaces completes the namespaces that have HostedClusters.
func (f *Flags) namespaces(c *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return f.listed(c.Context(), &hyperv1.HostedClusterList{}, client.Object.GetNamespace, prefix)
}

// contexts completes the contexts of the kubeconfig.
func (f *Flags) contexts(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	_, loader := f.loader()
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return matching(slices.Collect(maps.Keys(raw.Contexts)), prefix), cobra.ShellCompDirectiveNoFileComp
}

// listed offers a property of the objects of a list. An error offers nothing: a shell cannot show it.
func (f *Flags) listed(ctx context.Context, list client.ObjectList, property func(client.Object) string, prefix string, options ...client.ListOption) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	var found []string
	reader, _, err := f.Client()
	if err == nil {
		err = reader.List(ctx, list, options...)
	}
	if err == nil {
		err = meta.EachListItem(list, func(obj runtime.Object) error {
			if o, ok := obj.(client.Object); ok {
				found = append(found, property(o))
			}
			return nil
		})
	}
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return matching(found, prefix), cobra.ShellCompDirectiveNoFileComp
}

// matching returns the values with the prefix, sorted and without duplicates.
func matching(values []string, prefix string) []string {
	values = slices.DeleteFunc(values, func(value string) bool { return !strings.HasPrefix(value, prefix) })
	slices.Sort(values)
	return slices.Compact(values)
}
