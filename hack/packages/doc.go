// Package packages has install.sh, the one list of the system packages that the tests and the lab need. The Makefile and
// the CI job run it.
package packages
