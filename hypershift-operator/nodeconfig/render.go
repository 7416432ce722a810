package nodeconfig

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	ignition "github.com/coreos/ignition/v2/config/v3_4"
	"github.com/coreos/ignition/v2/config/v3_4/types"
	"k8s.io/utils/ptr"
)

// Format is the format of the user data, as Cluster API names it.
const Format = "ignition"

// Render returns the user data of a machine. The same Inputs and Machine always have the same text. It returns a
// *TooLargeError for user data that EC2 would refuse.
func Render(in Inputs, m Machine) ([]byte, error) {
	base, err := baseConfig(in, m)
	if err != nil {
		return nil, err
	}
	var all types.Config
	for _, raw := range in.Pool.Ignition {
		text, err := json.Marshal(raw)
		if err != nil {
			return nil, fmt.Errorf("reading a stored Ignition configuration: %w", err)
		}
		one, _, err := ignition.ParseCompatibleVersion(text)
		if err != nil {
			return nil, fmt.Errorf("reading a stored Ignition configuration: %w", err)
		}
		all = ignition.Merge(all, one)
	}
	all = ignition.Merge(all, base) // the last one takes precedence
	if err := compressFiles(&all); err != nil {
		return nil, err
	}
	text, err := compact(all)
	if err != nil {
		return nil, err
	}
	if len(text) > Limit {
		return nil, tooLarge(len(text), all)
	}
	return text, nil
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
		f.Mode, f.Contents = ptr.To(mode), inline(content)
		base.Storage.Files = append(base.Storage.Files, f)
	}
	write(bootstrapKubeconfigFile, 0o600, kubeconfig)
	write(caFile, 0o644, m.CA)
	write(clientCAFile, 0o644, m.ClientCA)
	write(kubeletFile, 0o644, kubelet)
	write(identityFile, 0o755, []byte(identity))
	write(credentialProvidersFile, 0o644, []byte(credentialProviders))
	write(authoritiesFile, 0o755, []byte(authorities))
	write(joiningFile, 0o755, []byte(joiningScript))
	server, err := serverEnvironment(m.Server)
	if err != nil {
		return types.Config{}, err
	}
	write(serverFile, 0o644, []byte(server))
	for _, registry := range slices.Sorted(maps.Keys(mirrors)) {
		write(registriesDirectory+"/"+registry+"/"+hostsFile, 0o644, []byte(mirrors[registry]))
	}
	cluster := in.cluster()
	if bundle := cluster.trustBundle(); len(bundle) > 0 {
		write(trustFile, 0o644, bundle)
	}
	if env := environment(cluster); env != "" {
		write(environmentFile, 0o600, []byte(env)) // the URL of a proxy may contain a password
	}
	base.Systemd.Units = units(m)
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

func units(m Machine) []types.Unit {
	return []types.Unit{
		{Name: containerdUnit, Enabled: ptr.To(true), Dropins: []types.Dropin{{Name: dropin, Contents: ptr.To(containerdDropin)}}},
		{Name: kubeletUnit, Enabled: ptr.To(true), Dropins: []types.Dropin{{Name: dropin, Contents: ptr.To(kubeletDropin(m))}}},
		{Name: joinedPathUnit, Enabled: ptr.To(true), Contents: ptr.To(joinedPath)},
		{Name: joinedUnit, Contents: ptr.To(joined)},
		{Name: apiServerUnit + ".socket", Enabled: ptr.To(true), Contents: ptr.To(apiServerSocket(m.Advertised))},
		{Name: apiServerUnit + ".service", Contents: ptr.To(apiServerProxy)},
		{Name: authoritiesUnit + ".timer", Enabled: ptr.To(true), Contents: ptr.To(authoritiesTimer)},
		{Name: authoritiesUnit + ".service", Contents: ptr.To(authoritiesService)},
		{Name: joiningUnit, Enabled: ptr.To(true), Contents: ptr.To(joining)},
	}
}

// Empty returns user data without effect.
func Empty() []byte { return []byte(`{"ignition":{"version":"` + types.MaxVersion.String() + `"}}`) }
