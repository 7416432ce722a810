// Package awsgraph contains the parts that graphs of AWS resources share: the classes of errors, lists that several reads use, and
// ownership tags.
package awsgraph
