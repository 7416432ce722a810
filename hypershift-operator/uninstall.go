package main

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// uninstallCheckCommand is the subcommand that the Helm chart runs before it
// takes the operator away.
const uninstallCheckCommand = "uninstall-check"

// held are the kinds with finalizers of the operator, and control planes: their
// HostedClusters may be gone.
var held = []string{"HostedCluster", "NodePool", "AWSEndpointService", "HostedControlPlane"}

// named is how many objects an error names.
const named = 10

// uninstallCheck fails while there are objects that only the operator can delete.
func uninstallCheck(ctx context.Context) error {
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the management cluster: %w", err)
	}
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return fmt.Errorf("asking the management cluster: %w", err)
	}
	return checkNothingLeft(ctx, c)
}

func checkNothingLeft(ctx context.Context, c client.Reader) error {
	var remaining []string
	for _, kind := range held {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(hyperv1.GroupVersion.WithKind(kind + "List"))
		err := c.List(ctx, list)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("listing every %s: %w", kind, err)
		}
		for _, obj := range list.Items {
			remaining = append(remaining, fmt.Sprintf("%s %s/%s", kind, obj.Namespace, obj.Name))
		}
	}
	if len(remaining) == 0 {
		return nil
	}
	what := strings.Join(remaining[:min(named, len(remaining))], ", ")
	if more := len(remaining) - named; more > 0 {
		what += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Errorf("only the hypershift-operator can delete %s: delete the HostedClusters and wait until they are gone, then uninstall it", what)
}
