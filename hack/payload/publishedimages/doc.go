// Package publishedimages is a table of the images that projects publish: those of a release, and those of the chart. A row has what a
// pod depends on: entrypoint, user, environment, programs with their file capabilities, a shell or none, and what the program writes.
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
// A program whose image changes in a release needs another look at its build file: a test compares the versions.
package publishedimages
