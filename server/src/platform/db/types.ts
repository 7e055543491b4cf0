/** Configures how the driver converts PostgreSQL's values to JavaScript. */
import pg from 'pg'

const INT8 = 20
const NUMERIC = 1700
const TIMESTAMP = 1114
const TIMESTAMPTZ = 1184

/** Converts `2026-11-21 05:00:00.12+00` (session time zone UTC) to `2026-11-21T05:00:00.120Z`. */
function isoTimestamp(text: string): string {
  const day = text.slice(0, 10)
  const time = text.slice(11, 19)
  const zone = text.lastIndexOf('+')
  const fraction = text.slice(20, zone > 0 ? zone : undefined)
  return `${day}T${time}.${fraction.padEnd(3, '0').slice(0, 3)}Z`
}

const parsers = new Map<number, (text: string) => unknown>([
  [INT8, Number],
  [NUMERIC, Number],
  [TIMESTAMP, isoTimestamp],
  [TIMESTAMPTZ, isoTimestamp],
])

/** Parses counts and ids as numbers, and timestamps as the ISO text used in the API. */
export const wireTypes: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: string) {
    return parsers.get(oid) ?? pg.types.getTypeParser(oid, format as 'text')
  },
}
