package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
)

// record holds the facts that a later run needs about a cluster without a HostedCluster: before it is created, or after it is deleted.
type record struct {
	// Server is the management cluster. The same name in another one is another cluster.
	Server           string `json:"server"`
	InfraID          string `json:"infraID"`
	Region           string `json:"region"`
	BaseDomain       string `json:"baseDomain"`
	BaseDomainPrefix string `json:"baseDomainPrefix,omitempty"`
	// Zones are the network's zones. A later run without --zones may choose others.
	Zones []string `json:"zones,omitempty"`
	// VPCOwner is the account of a shared VPC. Without its credentials, the network would be left behind.
	VPCOwner string `json:"vpcOwner,omitempty"`
}

// record returns the facts of a target.
func (t Target) record(m *management.API) record {
	return record{
		Server: m.Server, InfraID: t.Network.InfraID, Region: t.Network.Region,
		BaseDomain: t.Network.BaseDomain, BaseDomainPrefix: t.Network.BaseDomainPrefix, Zones: t.Network.Zones, VPCOwner: t.Roles.VPCOwner,
	}
}

func recordPath(env operation.Environment, namespace, name string) (string, error) {
	if env.StateHome == "" {
		return "", &operation.UsageError{Err: errors.New("the user has no home directory for the state of commands: set XDG_STATE_HOME")}
	}
	// Neither name contains a dot.
	return filepath.Join(env.StateHome, "hypershift", namespace+"."+name+"-cluster-aws.json"), nil
}

// readRecord returns nil if the file does not exist.
func readRecord(env operation.Environment, namespace, name string) (*record, error) {
	path, err := recordPath(env, namespace, name)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the state: %w", err)
	}
	r := &record{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("reading the state in %s: %w", path, err)
	}
	return r, nil
}

// save replaces the record. A crash leaves the old one or the new one.
func (r record) save(env operation.Environment, namespace, name string) error {
	path, err := recordPath(env, namespace, name)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("saving the state: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("saving the state: %w", err)
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".cluster-*")
	if err != nil {
		return fmt.Errorf("saving the state: %w", err)
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.Write(append(text, '\n'))
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return fmt.Errorf("saving the state: %w", err)
	}
	if err := os.Rename(temporary.Name(), path); err != nil {
		return fmt.Errorf("saving the state: %w", err)
	}
	return nil
}

func removeRecord(env operation.Environment, namespace, name string) error {
	path, err := recordPath(env, namespace, name)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("deleting the state: %w", err)
	}
	return nil
}
