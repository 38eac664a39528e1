// Package ledger keeps the record of queries and load runs in PostgreSQL, for SQL and audit. Nothing that is correct depends on it: it
// reads behind the work, from durable consumers, and a database that is away is caught up with when it is back.
//
// Records come in batches, each in one transaction with what its rows amount to. What comes again is known by its key and changes nothing, so a
// record is acknowledged after its transaction, and never lost in between. One transaction is written at a time, whoever writes: each
// begins with the same advisory lock, which a pooler between us and the server does not break. So several processes can do each other no
// harm, and cannot block each other for ever.
package ledger
