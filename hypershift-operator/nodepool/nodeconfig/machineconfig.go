package nodeconfig

import (
	"slices"
	"strings"

	ignition "github.com/coreos/ignition/v2/config/v3_4"
	"github.com/coreos/ignition/v2/config/v3_4/types"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/hosted-control-planes/hypershift/internal/oneline"
)

// machineConfig is the kind of OpenShift that wraps an Ignition configuration.
type machineConfig struct {
	envelope `json:",inline"`
	Spec     struct {
		Config                         runtime.RawExtension `json:"config"`
		KernelArguments                []string             `json:"kernelArguments"`
		Extensions                     []string             `json:"extensions"`
		FIPS                           bool                 `json:"fips"`
		KernelType                     string               `json:"kernelType"`
		OSImageURL                     string               `json:"osImageURL"`
		BaseOSExtensionsContainerImage string               `json:"baseOSExtensionsContainerImage"`
	} `json:"spec"`
}

func readMachineConfig(p *parser, m manifest) {
	var mc machineConfig
	if err := m.strict(&mc); err != nil {
		p.refuse("%s: %v", m, err)
		return
	}
	const image = "make a machine image that has it, and name the image in spec.platform.aws.ami of the NodePool"
	for _, field := range []struct {
		name, instead string
		set           bool
	}{
		{"kernelArguments", "write them to spec.config.kernelArguments.shouldExist", len(mc.Spec.KernelArguments) > 0},
		{"extensions", image, len(mc.Spec.Extensions) > 0},
		{"fips", image, mc.Spec.FIPS},
		{"kernelType", image, mc.Spec.KernelType != "" && mc.Spec.KernelType != "default"},
		{"osImageURL", image, mc.Spec.OSImageURL != ""},
		{"baseOSExtensionsContainerImage", image, mc.Spec.BaseOSExtensionsContainerImage != ""},
	} {
		if field.set {
			p.refuse("%s: spec.%s is not supported: %s", m, field.name, field.instead)
		}
	}
	if len(mc.Spec.Config.Raw) > 0 {
		p.ignition(m, mc.Spec.Config.Raw)
	}
}

// ignition stores an Ignition configuration as the user wrote it. The types of another version of the library could give the
// same configuration another hash.
func (p *parser) ignition(m manifest, text []byte) {
	parsed, report, err := ignition.ParseCompatibleVersion(text)
	if err != nil {
		p.refuse("%s: spec.config must be Ignition of version 3.0.0 to 3.4.0: %v: %s", m, err, oneline.Of(report.String()))
		return
	}
	refused := len(p.problems)
	p.checkIgnition(m, parsed)
	raw := map[string]any{}
	if err := utiljson.Unmarshal(text, &raw); err != nil {
		p.refuse("%s: spec.config: %v", m, err)
	}
	if len(p.problems) == refused {
		p.config.Ignition = append(p.config.Ignition, raw)
	}
}

// checkIgnition refuses changes to the files and units that make a machine a node of the cluster.
func (p *parser) checkIgnition(m manifest, c types.Config) {
	if c.Ignition.Config.Replace.Source != nil {
		p.refuse("%s: spec.config.ignition.config.replace would replace what makes the machine a node: use merge", m)
	}
	var paths []string
	for _, f := range c.Storage.Files {
		paths = append(paths, f.Path)
	}
	for _, d := range c.Storage.Directories {
		paths = append(paths, d.Path)
	}
	for _, l := range c.Storage.Links {
		paths = append(paths, l.Path)
		// Ignition refuses the file as a whole, and no machine would start.
		if slices.ContainsFunc(reservedFiles, func(file string) bool { return strings.HasPrefix(file, l.Path+"/") }) {
			p.refuse("%s: the operator writes files below %s: use another path for the link", m, l.Path)
		}
	}
	for _, path := range paths {
		if isReserved(path) {
			p.refuse("%s: %s is written by the operator: use another path", m, path)
		}
	}
	for _, unit := range c.Systemd.Units {
		p.checkUnit(m, unit)
	}
}

// checkUnit allows drop-ins of the units that make a node, and refuses other changes to them.
func (p *parser) checkUnit(m manifest, unit types.Unit) {
	if slices.Contains(ownUnits, unit.Name) {
		p.refuse("%s: unit %s is written by the operator: use another name", m, unit.Name)
	}
	if unit.Name != kubeletUnit && unit.Name != containerdUnit {
		return
	}
	if unit.Contents != nil || unit.Mask != nil || unit.Enabled != nil {
		p.refuse("%s: without unit %s there is no node: change it by drop-ins", m, unit.Name)
	}
	for _, d := range unit.Dropins {
		if d.Name == dropin {
			p.refuse("%s: drop-in %s of %s is written by the operator: use another name", m, d.Name, unit.Name)
		}
	}
}

// ownUnits are the units that only Render writes.
var ownUnits = []string{
	joinedUnit, joinedPathUnit, apiServerUnit + ".socket", apiServerUnit + ".service", authoritiesUnit + ".timer", authoritiesUnit + ".service", joiningUnit, resolverUnit, programsUnit,
}

// unitDirectories are the directories of systemd units, in order of precedence.
var unitDirectories = []string{"/etc/systemd/system.control/", "/run/systemd/system.control/", "/etc/systemd/system/", "/run/systemd/system/", "/usr/local/lib/systemd/system/", "/usr/lib/systemd/system/", "/lib/systemd/system/"}

// replacesUnit reports whether a file is one of our units, or a drop-in of one.
func replacesUnit(path string) bool {
	return slices.ContainsFunc(unitDirectories, func(dir string) bool {
		name, found := strings.CutPrefix(path, dir)
		name, _, _ = strings.Cut(name, "/")
		return found && slices.Contains(ownUnits, strings.TrimSuffix(name, ".d"))
	})
}

// reservedFiles are the files that Render writes, except units and registry files.
var reservedFiles = []string{
	bootstrapKubeconfigFile, caFile, clientCAFile, kubeletFile, identityFile, credentialProvidersFile, authoritiesFile, joiningFile, resolverFile, serverFile,
	environmentFile, trustFile, programsFile, programsScriptFile, containerdConfigFile,
}

// isReserved reports whether Render may write to a path.
func isReserved(path string) bool {
	if slices.Contains(reservedFiles, path) || replacesUnit(path) || strings.HasPrefix(path, programsUnitsFiles) {
		return true
	}
	return strings.HasPrefix(path, registriesDirectory+"/") && strings.HasSuffix(path, "/"+hostsFile)
}
