// Package rootfs builds the root file systems from which machines of the lab boot: Debian with its systemd, and with one of the
// two programs that read user data on the machines of AWS.
//
//	recipe (packages of Debian, files in trees/, removed files)
//	   -> key: hash of the recipe
//	   -> <cache>/machines/<name>-<key>/root, built by mmdebstrap if missing, under a file lock
//	                                   /packages, the installed packages with their versions
//
// A changed recipe gets a new key and therefore a new directory. An existing root is not updated when Debian releases newer
// packages, so that the machines of a lab stay the same. No machine writes to a root: each has its own layer above it.
package rootfs
