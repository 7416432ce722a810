// Package images builds the container images of a lab and pushes them to its registry:
//
//	table.go       content of each image: an image is a value
//	conformance.go the same for the images of the end-to-end tests of Kubernetes
//	  pinned         programs that hack/binaries builds
//	  operators.go   the operators, built here
//	  debian.go      programs of Debian, with their libraries
//	     │ files
//	     ▼
//	layer.go       files ─► layer, cached by the hash of its content
//	image.go       layers + configuration ─► image
//	push.go        image ─► registry, if it is missing there
//	release.go     images by digest ─► release payloads
//
// Builds are reproducible: the same files result in the same digests. Programs have the same paths as in the public images, and
// command and user are left to the pod where the public images do so. A pod that runs in the lab therefore runs with the public
// images, too.
package images
