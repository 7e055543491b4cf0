import { auditors } from '../../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../../platform/http/index.ts'
import { parseFilters } from '../filters.ts'
import { ExportFile, ExportQuery } from './export.schema.ts'
import type { AuditExports } from './export.service.ts'

export function exportOperations(exports: AuditExports): AnyOperation[] {
  return [
    operation({
      method: 'GET',
      path: '/api/admin/audit/export',
      id: 'exportAuditEntries',
      summary: 'Export audit entries',
      description:
        'Streams the entries that match the filters, latest first, as CSV or as JSON lines. The export does not include its own entries, and it is aborted if the caller is signed out. CSV is UTF-8 with a byte order mark and a header row. An apostrophe before `=`, `+`, `-`, `@`, a tab or a line break keeps spreadsheets from running a cell as a formula. A user can run two exports at once on a node.',
      records: ['audit.exported'],
      tag: 'Audit',
      access: auditors,
      countsAsWrite: true,
      query: ExportQuery,
      refine: parseFilters,
      success: [200, ExportFile],
      refusals: ['other_tenant'],
      handle: ({ caller, query, refined }) => exports.export(caller, query, refined),
    }),
  ]
}
