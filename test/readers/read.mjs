// Reads a table with a reader that is not ours and prints it as JSON: {"columns": [...], "rows": [[...]]}. Times are microseconds since
// 1970 as text, days are YYYY-MM-DD, integers are text, bytes of no format are changed.
//
//   node read.mjs duckdb FILE.parquet
//   node read.mjs arrow FILE.arrow
//   node read.mjs ranges URL        Parquet over HTTP, piece by piece; prints also how many requests it took
import {readFileSync} from 'node:fs'

const readers = {
  async duckdb(path) {
    const {DuckDBInstance} = await import('@duckdb/node-api')
    const connection = await (await DuckDBInstance.create(':memory:')).connect()
    const quoted = `'${path.replaceAll("'", "''")}'`
    const described = await connection.runAndReadAll(`DESCRIBE SELECT * FROM read_parquet(${quoted})`)
    const columns = described.getRowsJson().map((row) => ({name: row[0], type: row[1]}))
    const list = columns.map(({name, type}) => {
      const column = `"${name.replaceAll('"', '""')}"`
      return type === 'TIMESTAMP WITH TIME ZONE' ? `epoch_us(${column})::VARCHAR` : type === 'BIGINT' || type === 'DATE' ? `${column}::VARCHAR` : column
    })
    const read = await connection.runAndReadAll(`SELECT ${list.length ? list.join(', ') : '1'} FROM read_parquet(${quoted})`)
    return {columns, rows: read.getRowsJson()}
  },

  async arrow(path) {
    const {tableFromIPC} = await import('apache-arrow')
    const table = tableFromIPC(readFileSync(path))
    const columns = table.schema.fields.map((field) => ({name: field.name, type: String(field.type)}))
    const cell = (value, type) => {
      if (value === null || value === undefined) return null
      if (type.startsWith('Date')) return new Date(Number(value)).toISOString().slice(0, 10)
      if (type.startsWith('Timestamp')) return String(value)
      if (type.startsWith('List')) return Array.from(value)
      return typeof value === 'bigint' ? String(value) : value
    }
    // The library gives times as milliseconds in a float, which is not exact: the stored integers are.
    const stored = columns.map(({type}, c) => !type.startsWith('Timestamp') ? undefined : table.getChildAt(c).data.flatMap((data) =>
      Array.from({length: data.length}, (_, i) => data.getValid(i) ? data.values[i] : null)))
    const rows = []
    for (let i = 0; i < table.numRows; i++) {
      rows.push(columns.map(({type}, c) => cell(stored[c] ? stored[c][i] : table.getChildAt(c).get(i), type)))
    }
    return {columns, rows}
  },

  async ranges(url) {
    const {asyncBufferFromUrl, parquetMetadataAsync, parquetReadObjects} = await import('hyparquet')
    const {compressors} = await import('hyparquet-compressors')
    let requests = 0
    let bytes = 0
    const counted = async (address, init) => {
      requests++
      const answer = await fetch(address, init)
      bytes += Number(answer.headers.get('content-length') ?? 0) * (init?.method === 'HEAD' ? 0 : 1)
      return answer
    }
    const file = await asyncBufferFromUrl({url, fetch: counted})
    const metadata = await parquetMetadataAsync(file)
    const first = metadata.schema[1].name
    const rows = await parquetReadObjects({file, metadata, columns: [first], compressors})
    return {columns: [{name: first, type: ''}], rows: rows.map((row) => [row[first] ?? null]), requests, bytes, size: file.byteLength}
  },
}

const [reader, from] = process.argv.slice(2)
const result = await readers[reader](from)
process.stdout.write(JSON.stringify(result, (_, value) => typeof value === 'bigint' ? String(value) : value === undefined ? null : value))
