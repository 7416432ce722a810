// Package udp replaces a backend in C, which release payloads do not use. Without it, flannel needs no C compiler and has
// packages in common with the other programs. On other architectures flannel has no such backend either.
package udp
