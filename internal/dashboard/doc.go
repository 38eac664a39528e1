// Package dashboard serves the pages that people look at: one HTML file, its style and its modules, embedded. It knows nothing of
// queries; the page asks the API of the same server as any client does.
//
// Nothing is built: the files under assets are what the browser gets, and those under assets/vendor are copied from npm by `make web`,
// with their licences and a manifest that says where each came from. The policy that is sent with them lets the page load, and talk to,
// nothing but its own server, and runs no script that stands in the page.
package dashboard
