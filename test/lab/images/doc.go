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
// Builds are reproducible: the same files result in the same digests.
//
// An image that is published has its entrypoint, command, user, environment, labels and users, and its programs have their paths and their
// file capabilities, from the table in hack/payload/publishedimages. An image with a program that the published image lacks is not made. A
// pod that the published images refuse is therefore refused in the lab, too. What differs: layers are compressed with Zstandard for speed,
// there is an image for this architecture only, and debian.go provides programs that stand for programs that are not written in Go.
package images
