package clusteriam

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"golang.org/x/sync/errgroup"

	"github.com/hosted-control-planes/hypershift/internal/cli/aws/iamrole"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Discover finds the provider, the roles and the instance profiles of the cluster and of its bastion. kept are the resources of these names that are
// not the cluster's.
func (c *Cloud) Discover(ctx context.Context) (_ *rg.Graph, kept []error, _ error) {
	profiles := []struct{ node, name, role string }{
		{instanceProfile, names.InstanceProfile(c.owner.InfraID), names.WorkerRole(c.owner.InfraID)},
		{instanceProfile + "/bastion", names.Bastion(c.owner.InfraID), names.Bastion(c.owner.InfraID)},
	}
	roleNames := []string{names.WorkerRole(c.owner.InfraID), names.Bastion(c.owner.InfraID)}
	for _, suffix := range suffixes() {
		roleNames = append(roleNames, c.owner.InfraID+"-"+suffix)
	}
	roles := make([]*rg.Node, len(roleNames))
	var providers []*rg.Node
	foundProfiles := make([]*rg.Node, len(profiles))
	notOwned := make([]error, len(roleNames)+len(profiles))
	shared, sharedNotOwned := make([]*rg.Node, len(sharedVPCSuffixes)), make([]error, len(sharedVPCSuffixes))
	var group errgroup.Group
	for i, name := range roleNames {
		group.Go(func() (err error) {
			roles[i], notOwned[i], err = c.Find(ctx, name)
			return err
		})
	}
	for i, suffix := range sharedVPCSuffixes {
		if c.vpcOwner == nil {
			break
		}
		group.Go(func() (err error) {
			shared[i], sharedNotOwned[i], err = c.vpcOwner.Find(ctx, c.owner.InfraID+"-"+suffix)
			return err
		})
	}
	group.Go(func() (err error) {
		providers, err = c.discoverProviders(ctx)
		return err
	})
	for i, p := range profiles {
		group.Go(func() (err error) {
			foundProfiles[i], notOwned[len(roleNames)+i], err = c.FindProfile(ctx, p.node, p.name)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	var nodes []*rg.Node
	var above []string
	for _, p := range providers {
		nodes, above = append(nodes, p), append(above, p.ID)
	}
	found := map[string]bool{}
	for _, r := range roles {
		if r != nil {
			// A role without its provider cannot be used; a provider without roles is harmless.
			r.DependsOn, found[r.ID] = above, true
			nodes = append(nodes, r)
		}
	}
	for i, p := range profiles {
		if foundProfiles[i] == nil {
			continue
		}
		if role := "role/" + p.role; found[role] {
			foundProfiles[i].DependsOn = []string{role}
		}
		nodes = append(nodes, foundProfiles[i])
	}
	for _, r := range shared {
		if r != nil {
			nodes = append(nodes, r)
		}
	}
	for _, err := range append(notOwned, sharedNotOwned...) {
		if err != nil {
			kept = append(kept, err)
		}
	}
	graph, err := rg.New(nodes...)
	return graph, kept, err
}

func (c *Cloud) discoverProviders(ctx context.Context) (nodes []*rg.Node, _ error) {
	all, err := c.Reader.ListOpenIDConnectProviders(ctx, &iam.ListOpenIDConnectProvidersInput{})
	if err != nil {
		return nil, fmt.Errorf("listing OIDC providers: %w", err)
	}
	for _, p := range all.OpenIDConnectProviderList {
		arn := aws.ToString(p.Arn)
		if !strings.HasSuffix(arn, "/"+c.owner.InfraID) {
			continue // a provider that several clusters use is not ours to delete
		}
		_, issuer, _ := strings.Cut(arn, ":oidc-provider/")
		nodes = append(nodes, iamrole.Existing("oidc-provider/"+issuer, "OIDC provider", issuer, arn, func(ctx context.Context) error {
			_, err := c.Writer.DeleteOpenIDConnectProvider(ctx, &iam.DeleteOpenIDConnectProviderInput{OpenIDConnectProviderArn: aws.String(arn)})
			return err
		}))
	}
	return nodes, nil
}
