// Package release reads what a release payload says: an OCI image that lists, by name, the images of one version of all parts
// of a cluster, and the images that its machines boot from.
//
//	Resolve(image, pull secret)
//	  pullsecret.go   credentials for the registry, and nothing else of ours
//	  mirrors.go      where the cluster has it too
//	  overrides.go    where the registry is really asked
//	  resolver.go     answers that are remembered ─► else, once for all who wait:
//	    registry.go     manifest ─► digest; an index leads to any of its images, the files are the same in all
//	    layers.go       layers, newest first, until both files are found:
//	    decode.go         release-manifests/image-references          names, images, versions
//	                      release-manifests/*coreos-bootimages.yaml   AMIs per architecture and region
//
// Whoever may write a HostedCluster chooses the image, so all of it is read as if an enemy had written it: streamed, limited in
// every size, checked against its digest to the last byte, and never unpacked to disk.
//
// What a digest holds never changes and is kept. What a tag points to is asked again when somebody wants to know and the last
// answer is old; nobody is asked while nobody wants to know. Who has other credentials has to show them, also for what is known.
package release
