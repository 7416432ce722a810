package operator

import "strings"

// variables returns the environment variables by their names.
func variables(environ []string) map[string]string {
	env := map[string]string{}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	return env
}
