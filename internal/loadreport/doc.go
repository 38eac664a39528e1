// Package loadreport writes the report of a load run as one HTML file that stands by itself: for who has no access to the server, for mail and for
// an archive. It asks for nothing from elsewhere, has no script, and is light or dark as its reader's system is.
package loadreport
