// Package images makes the container images that a lab runs, and puts them into its registry:
//
//	table.go       what is in each image: an image is a value
//	  pinned         programs that hack/binaries builds
//	  operators.go   our own, built here
//	  debian.go      programs of Debian, with the libraries they need
//	     │ files
//	     ▼
//	layer.go       files ─► layer, in the cache by the hash of its content
//	image.go       layers + configuration ─► image
//	push.go        image ─► registry, unless it is there
//	release.go     images by digest ─► release payloads
//
// The same files give the same digests, whenever and wherever. Programs are where the public images have them, and what those
// leave to the pod (command, user) is left to it here too: a pod that runs in the lab runs with the public images.
package images
