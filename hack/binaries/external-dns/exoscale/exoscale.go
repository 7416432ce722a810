// Package v3 replaces the client of the Exoscale cloud, which the module proxy does not serve. external-dns compiles all
// its providers, and the test environments use the one of AWS only: this package has the types and no client.
package v3

import (
	"context"
	"errors"

	"github.com/exoscale/egoscale/v3/credentials"
)

var errNoClient = errors.New("this build of external-dns has no client of Exoscale")

type (
	UUID                             string
	Endpoint                         string
	DNSDomainRecordType              string
	CreateDNSDomainRecordRequestType string
	OperationState                   string

	Operation struct{}
	Client    struct{}
	ClientOpt func(*Client) error

	DNSDomain struct {
		ID          UUID
		UnicodeName string
	}
	DNSDomainRecord struct {
		ID            UUID
		Name, Content string
		Type          DNSDomainRecordType
		Ttl           int64
	}
	CreateDNSDomainRecordRequest struct {
		Name, Content string
		Type          CreateDNSDomainRecordRequestType
		Ttl           int64
	}
	UpdateDNSDomainRecordRequest struct {
		Name, Content string
		Ttl           int64
	}
	ListDNSDomainsResponse       struct{ DNSDomains []DNSDomain }
	ListDNSDomainRecordsResponse struct{ DNSDomainRecords []DNSDomainRecord }
)

const OperationStateSuccess OperationState = "success"

func NewClient(*credentials.Credentials, ...ClientOpt) (*Client, error) { return nil, errNoClient }

func ClientOptWithEndpoint(Endpoint) ClientOpt { return nil }

func (*Client) ListDNSDomains(context.Context) (*ListDNSDomainsResponse, error) {
	return nil, errNoClient
}

func (*Client) ListDNSDomainRecords(context.Context, UUID) (*ListDNSDomainRecordsResponse, error) {
	return nil, errNoClient
}

func (*Client) CreateDNSDomainRecord(context.Context, UUID, CreateDNSDomainRecordRequest) (*Operation, error) {
	return nil, errNoClient
}

func (*Client) UpdateDNSDomainRecord(context.Context, UUID, UUID, UpdateDNSDomainRecordRequest) (*Operation, error) {
	return nil, errNoClient
}

func (*Client) DeleteDNSDomainRecord(context.Context, UUID, UUID) (*Operation, error) {
	return nil, errNoClient
}

func (*Client) Wait(context.Context, *Operation, ...OperationState) (*Operation, error) {
	return nil, errNoClient
}
