package cluster

import (
	"errors"
	"fmt"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustermanifests"
)

// renders is true if the objects are printed and not created.
func (o *createOptions) renders() bool { return o.render || o.renderInto != "" }

// print prints the objects. It makes no call, and its output depends on the flags and the files only.
func (o *createOptions) print(env operation.Environment, r Request) error {
	switch {
	case !r.GivenNetwork || !r.GivenRoles:
		return &operation.UsageError{Err: errors.New("--render needs --infra-json and --iam-json: it makes no call, and the ids of AWS come from there")}
	case o.Plan || o.wait:
		return &operation.UsageError{Err: errors.New("--render excludes --plan and --wait")}
	case o.sensitive && r.Cluster.IAM.KMSKeyARN == "" && len(r.Cluster.EncryptionKey) == 0:
		return &operation.UsageError{Err: errors.New("--render-sensitive needs --etcd-encryption-key-file: a random key would be another one each time")}
	}
	if err := operation.Check(r.Cluster.Validate()); err != nil {
		return err
	}
	text, err := clustermanifests.YAML(r.Cluster.Objects(), o.sensitive)
	if err != nil {
		return err
	}
	if o.renderInto == "" {
		_, err := env.Out.Write(text)
		return err
	}
	// The Secrets are for the user alone.
	if err := operation.WritePrivate(o.renderInto, text); err != nil {
		return fmt.Errorf("writing --render-into: %w", err)
	}
	fmt.Fprintf(env.Err, "wrote %s\n", o.renderInto)
	return nil
}
