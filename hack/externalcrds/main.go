// Command externalcrds writes the CRDs of other projects that the operators need, from the modules that go.mod pins, to
// config/crd/external, and the CRDs of Karpenter, which hosted clusters need, from the module that hack/binaries/karpenter pins, to
// config/karpenter, and those of the Gateway API, which hosted clusters with an ingress controller need, from the module that
// hack/binaries/traefik pins, to config/gatewayapi:
//
//	go run ./hack/externalcrds
//
//	Route             unchanged; an OpenShift management cluster has it already
//	Cluster API       the CRDs that its manager watches with the configured feature gates
//	its AWS provider  likewise; its CRDs have labels with their contract, by which Cluster API finds their version
//	Karpenter         unchanged, with the settings for AWS
//	Gateway API       unchanged, the kinds of the standard channel that Traefik serves
//
// Each CRD contains only its storage version: no conversion webhooks run, and a conversion without one would lose fields
// silently.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// source is a module with CRDs.
type source struct {
	module string
	dir    string // in the module
	files  []string
	labels map[string]string // added
	asIs   bool
	// pinned is the directory of the go.mod with the version, if it is not the repository's go.mod.
	pinned string
}

var sources = []source{
	{
		module: "github.com/openshift/api",
		dir:    "route/v1/zz_generated.crd-manifests",
		files:  []string{"routes.crd.yaml"},
		asIs:   true,
	},
	{
		module: "sigs.k8s.io/cluster-api",
		dir:    "config/crd/bases",
		files: []string{
			"addons.cluster.x-k8s.io_clusterresourcesetbindings.yaml",
			"addons.cluster.x-k8s.io_clusterresourcesets.yaml",
			"cluster.x-k8s.io_clusters.yaml",
			"cluster.x-k8s.io_machinedeployments.yaml",
			"cluster.x-k8s.io_machinedrainrules.yaml",
			"cluster.x-k8s.io_machinehealthchecks.yaml",
			"cluster.x-k8s.io_machines.yaml",
			"cluster.x-k8s.io_machinesets.yaml",
		},
		// The CRDs match the program. The go.mod of the repository has the release of the types, which may be another one.
		pinned: filepath.Join("hack", "binaries", "cluster-api"),
	},
	{
		module: "sigs.k8s.io/cluster-api-provider-aws/v2",
		dir:    "config/crd/bases",
		files: []string{
			"infrastructure.cluster.x-k8s.io_awsclusters.yaml",
			"infrastructure.cluster.x-k8s.io_awsmachines.yaml",
			"infrastructure.cluster.x-k8s.io_awsmachinetemplates.yaml",
		},
		labels: map[string]string{"cluster.x-k8s.io/v1beta1": "v1beta2"},
	},
}

// gateways are the CRDs of hosted clusters with an ingress controller.
var gateways = []source{
	{
		module: "sigs.k8s.io/gateway-api",
		dir:    "config/crd/standard",
		files: []string{
			"gateway.networking.k8s.io_backendtlspolicies.yaml",
			"gateway.networking.k8s.io_gatewayclasses.yaml",
			"gateway.networking.k8s.io_gateways.yaml",
			"gateway.networking.k8s.io_grpcroutes.yaml",
			"gateway.networking.k8s.io_httproutes.yaml",
			"gateway.networking.k8s.io_referencegrants.yaml",
			"gateway.networking.k8s.io_tlsroutes.yaml",
		},
		asIs:   true,
		pinned: filepath.Join("hack", "binaries", "traefik"),
	},
}

// onDemand are the CRDs of hosted clusters with nodes on demand.
var onDemand = []source{
	{
		module: "github.com/aws/karpenter-provider-aws",
		dir:    "pkg/apis/crds",
		files: []string{
			"karpenter.k8s.aws_ec2nodeclasses.yaml",
			"karpenter.sh_nodeclaims.yaml",
			"karpenter.sh_nodeoverlays.yaml",
			"karpenter.sh_nodepools.yaml",
		},
		asIs:   true,
		pinned: filepath.Join("hack", "binaries", "karpenter"),
	},
}

// directories are where the CRDs are written.
var directories = map[string][]source{
	filepath.Join("config", "crd", "external"): sources,
	filepath.Join("config", "karpenter"):       onDemand,
	filepath.Join("config", "gatewayapi"):      gateways,
}

func main() {
	for dir, from := range directories {
		if err := write(dir, from); err != nil {
			fmt.Fprintln(os.Stderr, "externalcrds:", err)
			os.Exit(1)
		}
	}
}

func write(dir string, sources []source) error {
	files, err := all(sources)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(dir, name), files[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// all returns every file by its name.
func all(sources []source) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, s := range sources {
		dir, err := s.download()
		if err != nil {
			return nil, fmt.Errorf("downloading module %s: %w", s.module, err)
		}
		for _, name := range s.files {
			text, err := os.ReadFile(filepath.Join(dir, s.dir, name))
			if err != nil {
				return nil, err
			}
			if files[name], err = s.convert(text); err != nil {
				return nil, fmt.Errorf("converting %s of %s: %w", name, s.module, err)
			}
		}
	}
	return files, nil
}

// download returns the directory of the module.
func (s source) download() (string, error) {
	download := exec.Command("go", "mod", "download", "-json", s.module)
	if s.pinned != "" { // its go.mod may need a newer Go release than this one
		download.Dir, download.Env = s.pinned, append(os.Environ(), "GOTOOLCHAIN=auto")
	}
	out, err := download.Output()
	if err != nil {
		return "", err
	}
	var module struct{ Dir string }
	err = json.Unmarshal(out, &module)
	return module.Dir, err
}

func (s source) convert(text []byte) ([]byte, error) {
	if s.asIs {
		return text, nil
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(text, crd); err != nil {
		return nil, err
	}
	crd.Spec.Versions = slices.DeleteFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return !v.Storage })
	if len(s.labels) > 0 {
		crd.Labels = map[string]string{}
		maps.Copy(crd.Labels, s.labels)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
	if err != nil {
		return nil, err
	}
	delete(content, "status")
	out, err := yaml.Marshal(content)
	return append([]byte("---\n"), out...), err
}
