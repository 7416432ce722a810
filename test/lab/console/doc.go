// Package console tests the pages of `hypershift console` in a real browser, with hosted clusters in memory.
package console
