// Package web serves the pages of the console.
//
// Pages are made by the server and work without scripts. A page that has scripts subscribes to /live, which sends the parts that change as
// server-sent events; the browser merges them into the page (github.com/bigskysoftware/idiomorph). Package html/template is not used: it finds
// methods by their names, with which the linker keeps every method of the AWS SDK.
package web
