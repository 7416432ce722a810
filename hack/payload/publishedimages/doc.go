// Package publishedimages is a table of the images that projects publish: the images of a release, and the images of the chart. A row
// lists the facts that a pod depends on: entrypoint, user, environment, programs with their file capabilities, a shell or none, and
// the files that the program writes.
//
//	base.go    base images
//	table.go   images, each with its build file and the version of it that was read
//	image.go   the types, and how a container runtime resolves a command
//
// The images themselves cannot be pulled where the tests run. Two things follow from the table instead:
//
//	test/lab/images  the lab's images have these entrypoints, users, paths and file capabilities
//	test/imagecheck  the pods of all components and of the chart fit these images
//
// When a program's image changes in a release, its build file needs another look: a test compares the versions.
package publishedimages
