package iam

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

//go:embed *.json
var documents embed.FS

//go:embed commandline/*.json
var commands embed.FS

// Files of the policies.
const (
	HypershiftOperator    = "hypershift-operator.json"
	ControlPlaneOperator  = "control-plane-operator.json"
	NodePoolManagement    = "node-pool-management.json"
	CloudController       = "cloud-controller.json"
	Storage               = "storage.json"
	Ingress               = "ingress.json"
	ImageRegistry         = "image-registry.json"
	Karpenter             = "karpenter.json"
	KMSProvider           = "kms-provider.json"
	EtcdBackup            = "etcd-backup.json"
	SharedVPCRoles        = "shared-vpc-roles.json"
	SharedVPCControlPlane = "shared-vpc-control-plane.json"
	SharedVPCIngress      = "shared-vpc-ingress.json"
	ExternalDNS           = "external-dns.json"
)

// variable is a placeholder of a policy. Policy variables of AWS have a colon and are left alone, here as by envsubst.
var variable = regexp.MustCompile(`\$\{([A-Z_]+)\}`)

// Fill returns the policy in that file with its variables replaced. A variable
// without a value is an error: AWS would store the policy, and it would allow no call.
func Fill(file string, variables map[string]string) (string, error) {
	return fill(documents, file, variables)
}

// FillCommand returns the policy for the users of a command of the command line, such as create-infra, with its variables replaced.
func FillCommand(command string, variables map[string]string) (string, error) {
	return fill(commands, "commandline/"+command+".json", variables)
}

func fill(from embed.FS, file string, variables map[string]string) (string, error) {
	text, err := from.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("reading the policy: %w", err)
	}
	var missing []string
	filled := variable.ReplaceAllStringFunc(string(text), func(placeholder string) string {
		name := variable.FindStringSubmatch(placeholder)[1]
		if variables[name] == "" && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
		return variables[name]
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("the policy %s needs values for %s", file, strings.Join(missing, ", "))
	}
	return filled, nil
}
