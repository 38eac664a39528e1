// Package postgres brings a table into PostgreSQL: all of it in one transaction, or nothing.
//
// Rows come as the stream output.PGCopy and go on to COPY as they come, so that no table is ever in memory. What a stream of many
// minutes may meet must not be seen by anyone else, and must not have to be tidied up:
//
//   - A new table is created and filled in one transaction. Nobody sees it before its end, and a rollback leaves nothing.
//   - Rows for a table that is there come into a temporary table first, ON COMMIT DROP, in the same transaction, and are merged when all of
//     them are there. It needs no name that could be taken, is in no backup, is not logged, and vanishes with the connection, however that
//     ends. An unlogged table would outlive a killed process, and would be visible to others.
//   - The table's own lock is taken only for the merge, so that writers do not wait for the network. Readers never wait.
//
// Replacing deletes the rows that were there, and does not truncate: TRUNCATE keeps readers out, and a transaction that began earlier and
// looks afterwards would find no rows at all. So whoever reads finds all the old rows or all the new ones. The price is the space of the old
// rows until vacuum. Another table under the old name would lose grants, indexes, and views on it.
package postgres
