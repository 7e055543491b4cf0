import Type, { type Static } from 'typebox'
import { OneOf } from '../../../lib/shapes.ts'
import { TextFileOf } from '../../../platform/http/index.ts'
import { FILTERS } from '../audit.schema.ts'
import { type ExportFormatName, FORMATS } from './formats.ts'

export const ExportQuery = Type.Object({
  format: OneOf(Object.keys(FORMATS) as ExportFormatName[], {
    default: 'csv',
    description:
      'The format of the file: `csv` (comma-separated values) or `ndjson` (one JSON object per line).',
  }),
  ...FILTERS,
})
export type ExportQuery = Static<typeof ExportQuery>

export const ExportFile = TextFileOf({
  [FORMATS.csv.contentType]: 'id,action,created_at\r\n81,user.blocked,2026-11-21T08:30:00.000Z\r\n',
  [FORMATS.ndjson.contentType]:
    '{"id":81,"action":"user.blocked","created_at":"2026-11-21T08:30:00.000Z"}\n',
})
