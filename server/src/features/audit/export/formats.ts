import { AuditEntry } from '../audit.schema.ts'
import { csvLine } from './csv.ts'

interface ExportFormat {
  contentType: string
  /** The text before the first entry, such as a header line. */
  head: string
  lineOf(entry: AuditEntry): string
}

const COLUMNS = Object.keys(AuditEntry.properties) as (keyof AuditEntry)[]

/** The byte order mark, which makes spreadsheets read the file as UTF-8. */
const BYTE_ORDER_MARK = '\ufeff'

export const FORMATS = {
  csv: {
    contentType: 'text/csv; charset=utf-8',
    head: BYTE_ORDER_MARK + csvLine(COLUMNS),
    lineOf: (entry) => csvLine(COLUMNS.map((name) => entry[name])),
  },
  ndjson: {
    contentType: 'application/x-ndjson; charset=utf-8',
    head: '',
    lineOf: (entry) => `${JSON.stringify(entry)}\n`,
  },
} as const satisfies Record<string, ExportFormat>

export type ExportFormatName = keyof typeof FORMATS
