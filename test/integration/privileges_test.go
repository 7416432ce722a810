package integration

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/hosted-control-planes/hypershift/test/privilege"
)

var privilegesFile = flag.String("privileges", "", "a file to write to what our programs were refused, and what they may do and did not")

// privileges returns an error with the requests of the programs that Kubernetes or AWS denied, in all tests together.
func privileges(ctx context.Context) error {
	reports, err := compare(ctx)
	if err != nil {
		return fmt.Errorf("comparing permissions with what was done: %w", err)
	}
	if *privilegesFile != "" {
		file, err := os.Create(*privilegesFile)
		if err != nil {
			return err
		}
		defer file.Close()
		for _, r := range reports {
			r.Write(file)
		}
	}
	var errs []error
	for _, r := range reports {
		errs = append(errs, r.Refused())
	}
	return errors.Join(errs...)
}

func compare(ctx context.Context) ([]privilege.Report, error) {
	accounts, err := privilege.ServiceAccounts(on.path())
	if err != nil {
		return nil, err
	}
	requests, err := privilege.Audit(on.AuditLog(), accounts)
	if err != nil {
		return nil, err
	}
	roles, err := privilege.Roles(on.path())
	if err != nil {
		return nil, err
	}
	calls, err := on.AWS.Calls(ctx)
	if err != nil {
		return nil, err
	}
	return []privilege.Report{privilege.InKubernetes(accounts, requests), privilege.InAWS(roles, privilege.Calls(calls, roles))}, nil
}
