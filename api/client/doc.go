// Package client has typed access to the API for programs that do not use controller-runtime:
//
//	clientset        create, get, list, watch, patch, apply, delete; clientset/fake for tests
//
// Only this file, README.md and the tests are written by hand. hack/generate.sh writes everything else.
package client
