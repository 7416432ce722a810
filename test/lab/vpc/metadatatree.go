package vpc

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// version matches the versions of the service. All of them have the same items here.
var version = regexp.MustCompile(`^(latest|[0-9]{4}-[0-9]{2}-[0-9]{2})$`)

// tree is the content of the service below a version: item -> text.
type tree map[string]string

// newTree returns the service's data about an instance.
func newTree(i awsemulator.NetworkInterface, m *Metadata) (tree, error) {
	region := m.Zone[:max(0, len(m.Zone)-1)]
	identity, err := json.MarshalIndent(map[string]string{
		"version": "2017-09-30", "instanceId": m.ID, "imageId": m.Image, "instanceType": m.Type,
		"availabilityZone": m.Zone, "region": region, "privateIp": i.Address.String(),
	}, "", "  ")
	if err != nil {
		return nil, err
	}
	t := tree{
		"meta-data/instance-id":                 m.ID,
		"meta-data/instance-type":               m.Type,
		"meta-data/ami-id":                      m.Image,
		"meta-data/hostname":                    m.Hostname,
		"meta-data/local-hostname":              m.Hostname,
		"meta-data/local-ipv4":                  i.Address.String(),
		"meta-data/placement/availability-zone": m.Zone,
		"meta-data/placement/region":            region,
		"dynamic/instance-identity/document":    string(identity),
	}
	if len(m.UserData) > 0 {
		t["user-data"] = string(m.UserData)
	}
	if m.Role != "" {
		t["meta-data/iam/security-credentials/"+m.Role] = roleCredentials()
	}
	return t, nil
}

// find returns the text of an item, or the list of a directory. Programs that read user data walk through the directories.
func (t tree) find(path string) (text string, found bool) {
	at, path, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if !version.MatchString(at) {
		return "", false
	}
	if text, found := t[path]; found {
		return text, true
	}
	dir := strings.TrimSuffix(path, "/")
	if dir != "" {
		dir += "/"
	}
	var names []string
	for item := range t {
		rest, inside := strings.CutPrefix(item, dir)
		if !inside {
			continue
		}
		name, _, deeper := strings.Cut(rest, "/")
		if deeper {
			name += "/"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), "\n"), len(names) > 0
}

// serve serves an item of the metadata, or the user data.
func serve(w http.ResponseWriter, req *http.Request, i awsemulator.NetworkInterface, m *Metadata) {
	t, err := newTree(i, m)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	text, found := t.find(req.URL.Path)
	if !found {
		http.NotFound(w, req)
		return
	}
	_, _ = w.Write([]byte(text)) // the client is gone
}
