package nodeconfig

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	ignition "github.com/coreos/ignition/v2/config/v3_4"
	"github.com/coreos/ignition/v2/config/v3_4/types"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Render returns the user data of a machine, in the format of the Inputs. The same Inputs and Machine always have the same text.
// It returns a *TooLargeError for user data that EC2 would refuse.
func Render(in Inputs, m Machine) ([]byte, error) {
	c, err := model(in, m)
	if err != nil {
		return nil, err
	}
	if in.Format == hyperv1.UserDataFormatCloudConfig {
		return renderCloudConfig(c)
	}
	return renderIgnition(c)
}

// Empty returns user data without effect.
func Empty(format hyperv1.UserDataFormat) []byte {
	if format == hyperv1.UserDataFormatCloudConfig {
		return []byte(cloudConfigHeader)
	}
	return []byte(`{"ignition":{"version":"` + types.MaxVersion.String() + `"}}`)
}

// model returns the files, units and users of a machine: the user's, overridden by the files, units and users that make it a
// node. Both formats are written from it. Its types are Ignition's types, because users write Ignition; see cloudConfig for the
// other format.
func model(in Inputs, m Machine) (types.Config, error) {
	base, err := baseConfig(in, m)
	if err != nil {
		return types.Config{}, err
	}
	var all types.Config
	for _, raw := range in.Pool.Ignition {
		one, err := parseIgnition(raw)
		if err != nil {
			return types.Config{}, err
		}
		all = ignition.Merge(all, one)
	}
	return ignition.Merge(all, base), nil // the last one takes precedence
}

// parseIgnition reads a configuration that Parse has accepted.
func parseIgnition(raw map[string]any) (types.Config, error) {
	text, err := json.Marshal(raw)
	if err != nil {
		return types.Config{}, fmt.Errorf("reading a stored Ignition configuration: %w", err)
	}
	c, _, err := ignition.ParseCompatibleVersion(text)
	if err != nil {
		return types.Config{}, fmt.Errorf("reading a stored Ignition configuration: %w", err)
	}
	return c, nil
}

// baseConfig returns the files and units that make a machine a node.
func baseConfig(in Inputs, m Machine) (types.Config, error) {
	kubeconfig, err := bootstrapKubeconfig(in, m)
	if err != nil {
		return types.Config{}, err
	}
	kubelet, err := kubeletConfiguration(in)
	if err != nil {
		return types.Config{}, err
	}
	mirrors, err := registries(in.Pool.Mirrors)
	if err != nil {
		return types.Config{}, err
	}
	base := types.Config{Ignition: types.Ignition{Version: types.MaxVersion.String()}}
	write := func(path string, mode int, content []byte) {
		f := types.File{Node: types.Node{Path: path, Overwrite: ptr.To(true)}}
		f.Mode, f.Contents = ptr.To(mode), types.Resource{Source: ptr.To(dataURL(content))}
		base.Storage.Files = append(base.Storage.Files, f)
	}
	write(bootstrapKubeconfigFile, 0o600, kubeconfig)
	write(caFile, 0o644, m.CA)
	write(clientCAFile, 0o644, m.ClientCA)
	write(kubeletFile, 0o600, kubelet)
	write(identityFile, 0o755, []byte(identity))
	write(credentialProvidersFile, 0o644, []byte(credentialProviders))
	write(authoritiesFile, 0o755, []byte(authorities))
	write(joiningFile, 0o755, []byte(joiningScript))
	write(resolverFile, 0o755, []byte(resolverScript))
	if in.Programs != nil {
		write(programsFile, 0o644, []byte(programsEnvironment(in.Version, in.Programs)))
		write(programsScriptFile, 0o755, []byte(programsScript))
		write(containerdConfigFile, 0o644, []byte(containerdConfig(in.Programs)))
		write(programsUnitsFiles+containerdUnit, 0o644, []byte(containerdService))
		write(programsUnitsFiles+kubeletUnit, 0o644, []byte(kubeletService))
	}
	server, err := serverEnvironment(m.Server)
	if err != nil {
		return types.Config{}, err
	}
	write(serverFile, 0o644, []byte(server))
	for _, registry := range slices.Sorted(maps.Keys(mirrors)) {
		write(registriesDirectory+"/"+registry+"/"+hostsFile, 0o644, []byte(mirrors[registry]))
	}
	cluster := in.Cluster
	if bundle := cluster.trustBundle(); len(bundle) > 0 {
		write(trustFile, 0o644, bundle)
	}
	if env := environment(cluster); env != "" {
		write(environmentFile, 0o600, []byte(env)) // the URL of a proxy may contain a password
	}
	base.Systemd.Units = units(in, m)
	for _, key := range cluster.SSHKeys() {
		base.Passwd.Users = addKey(base.Passwd.Users, key)
	}
	return base, nil
}

func addKey(users []types.PasswdUser, key string) []types.PasswdUser {
	if len(users) == 0 {
		users = []types.PasswdUser{{Name: SSHUser}}
	}
	users[0].SSHAuthorizedKeys = append(users[0].SSHAuthorizedKeys, types.SSHAuthorizedKey(key))
	return users
}

// units returns the units of a node. If the machine installs its programs, their unit enables and starts containerd and the
// kubelet, of which the image may have no unit.
func units(in Inputs, m Machine) []types.Unit {
	containerd := types.Unit{Name: containerdUnit, Enabled: ptr.To(true), Dropins: []types.Dropin{{Name: dropin, Contents: ptr.To(containerdDropin)}}}
	kubelet := types.Unit{Name: kubeletUnit, Enabled: ptr.To(true), Dropins: []types.Dropin{{Name: dropin, Contents: ptr.To(kubeletDropin(m))}}}
	all := []types.Unit{
		{Name: resolverUnit, Enabled: ptr.To(true), Contents: ptr.To(resolver)},
		{Name: joinedPathUnit, Enabled: ptr.To(true), Contents: ptr.To(joinedPath)},
		{Name: joinedUnit, Contents: ptr.To(joined)},
		{Name: apiServerUnit + ".socket", Enabled: ptr.To(true), Contents: ptr.To(apiServerSocket(m.Advertised))},
		{Name: apiServerUnit + ".service", Contents: ptr.To(apiServerProxy)},
		{Name: authoritiesUnit + ".timer", Enabled: ptr.To(true), Contents: ptr.To(authoritiesTimer)},
		{Name: authoritiesUnit + ".service", Contents: ptr.To(authoritiesService)},
		{Name: joiningUnit, Enabled: ptr.To(true), Contents: ptr.To(joining)},
	}
	if in.Programs != nil {
		for _, u := range []*types.Unit{&containerd, &kubelet} {
			u.Enabled, u.Dropins[0].Contents = nil, ptr.To(programsDropin+*u.Dropins[0].Contents)
		}
		all = append(all, types.Unit{Name: programsUnit, Enabled: ptr.To(true), Contents: ptr.To(programsService)})
	}
	return append([]types.Unit{containerd, kubelet}, all...)
}
