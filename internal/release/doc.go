// Package release reads release payloads: an OCI image that lists, by name, the images of one version of all parts of a cluster,
// and the images that its machines boot from.
//
//	Resolve(image, pull secret)
//	  pullsecret.go   credentials of the user for the registry, and no others
//	  mirrors.go      mirrors of the cluster
//	  overrides.go    mirrors of the installation
//	  resolver.go     cached answers ─► otherwise, once for all callers:
//	    registry.go     manifest ─► digest; of an index, any of its images: the files are the same in all
//	    layers.go       layers, newest first, until both files are found:
//	    decode.go         release-manifests/image-references          names, images, versions
//	                      release-manifests/*coreos-bootimages.yaml   AMIs per architecture and region
//
// Every user with write access to a HostedCluster chooses the image, so that it is untrusted input: it is streamed, limited in every size,
// verified against its digest to the last byte, and never unpacked to disk.
//
// The content of a digest never changes and is cached without expiry. A tag is looked up again when its answer has expired and a
// caller needs it, and never without a caller. A caller with other credentials has to prove its access, also to cached content.
package release
