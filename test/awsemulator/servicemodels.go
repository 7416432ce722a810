package awsemulator

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

// Constraints returns the requirements of AWS's service models on the input of operations, which are given by the signing
// name of their service, in the format of test/fakeaws/constraints.json.
func Constraints(ctx context.Context, operations map[string][]string) ([]byte, error) {
	return askModels(ctx, "emulator.constraints", operations)
}

// askModels runs a module of the emulator that answers a question about the service models.
func askModels(ctx context.Context, module string, question any) ([]byte, error) {
	installed, err := install(ctx, os.Stderr)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(question)
	if err != nil {
		return nil, fmt.Errorf("asking for the service models: %w", err)
	}
	command := exec.CommandContext(ctx, installed.python, "-m", module)
	command.Dir = installed.source
	command.Env = append(os.Environ(), "PYTHONPATH=", "PYTHONDONTWRITEBYTECODE=")
	command.Stdin = bytes.NewReader(text)
	var failure bytes.Buffer
	command.Stderr = &failure
	answer, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("reading the service models with %s: %w\n%s", module, err, failure.Bytes())
	}
	return answer, nil
}

// Paginators returns the operations that the models page, by the name of the service in botocore.
func Paginators(ctx context.Context, services ...string) (map[string][]string, error) {
	answer, err := askModels(ctx, "emulator.paginators", services)
	if err != nil {
		return nil, err
	}
	var paginated map[string][]string
	if err := json.Unmarshal(answer, &paginated); err != nil {
		return nil, fmt.Errorf("reading the paginators of the service models: %w", err)
	}
	return paginated, nil
}
