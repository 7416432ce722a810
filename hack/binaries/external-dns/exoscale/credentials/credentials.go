// Package credentials has the names of the Exoscale client that external-dns uses.
package credentials

// Credentials are not used: there is no client.
type Credentials struct{}

// NewStaticCredentials returns empty Credentials.
func NewStaticCredentials(string, string) *Credentials { return &Credentials{} }
