// Package factory replaces the list of providers of external-dns. The test environments use the provider of AWS only. Those of
// other clouds need more time for their compilation than all the rest of external-dns.
package factory

import (
	"context"
	"fmt"

	"sigs.k8s.io/external-dns/endpoint"
	"sigs.k8s.io/external-dns/pkg/apis/externaldns"
	"sigs.k8s.io/external-dns/provider"
	"sigs.k8s.io/external-dns/provider/aws"
)

// Select returns the provider of AWS, as the configuration wants it.
func Select(ctx context.Context, config *externaldns.Config, domains *endpoint.DomainFilter) (provider.Provider, error) {
	if config.Provider != externaldns.ProviderAWS {
		return nil, fmt.Errorf("this build of external-dns has no provider %q, only %q", config.Provider, externaldns.ProviderAWS)
	}
	selected, err := aws.New(ctx, config, domains)
	if err != nil {
		return nil, err
	}
	if config.ProviderCacheTime > 0 {
		selected = provider.NewCachedProvider(selected, config.ProviderCacheTime)
	}
	return newAliasNormalizingMiddleware(selected), nil
}
