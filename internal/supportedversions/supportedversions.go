// Package supportedversions defines the ConfigMap with the versions of Kubernetes that an operator supports for hosted clusters. HyperShift's
// operator writes the same.
//
//	metadata: {namespace: <that of the operator>, name: supported-versions, labels: {hypershift.openshift.io/supported-versions: "true"}}
//	data:
//	  supported-versions: {"versions":["1.37","1.36"]}   the newest first
//	  server-version: the version of the operator
package supportedversions

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// Name is the name of the ConfigMap, and Label selects it with the value true.
const (
	Name  = "supported-versions"
	Label = "hypershift.openshift.io/supported-versions"
)

// The keys of the ConfigMap.
const (
	versionsKey = "supported-versions"
	operatorKey = "server-version"
)

type list struct {
	Versions []string `json:"versions"`
}

// Data returns the content of the ConfigMap of an operator.
func Data(operator string, versions []string) (map[string]string, error) {
	text, err := json.Marshal(list{versions})
	if err != nil {
		return nil, fmt.Errorf("writing the supported versions: %w", err)
	}
	return map[string]string{versionsKey: string(text), operatorKey: operator}, nil
}

// Of returns the versions in a ConfigMap, the newest first; nil if it has none.
func Of(config *corev1.ConfigMap) []string {
	var l list
	if json.Unmarshal([]byte(config.Data[versionsKey]), &l) != nil {
		return nil
	}
	return l.Versions
}
