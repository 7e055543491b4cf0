import { admins, superadmins } from '../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../platform/http/index.ts'
import {
  FixPage,
  FixPath,
  FixStats,
  FixView,
  ScanOrder,
  Seeded,
  SeedQuery,
} from './fixes.schema.ts'
import type { Fixes } from './fixes.service.ts'
import type { RequestedScans } from './scan/scan-now.ts'

const tag = 'Self-healing'

export function fixOperations(fixes: Fixes, scans: RequestedScans): AnyOperation[] {
  return [
    operation({
      method: 'GET',
      path: '/api/admin/self-healing/fixes',
      id: 'listFixes',
      summary: 'List fixes',
      description:
        'Returns every known fault on one page, with its findings and what a repair would change.',

      tag,
      access: admins,
      list: true,
      success: [200, FixPage],
      handle: ({ caller }) => fixes.list(caller),
    }),
    operation({
      method: 'POST',
      path: '/api/admin/self-healing/confirm/{fix_id}',
      id: 'confirmFix',
      summary: 'Confirm a fix',
      description:
        'Scans for the fault again, repairs what is found, checks the result, and returns the fix.',
      records: ['self_healing.applied', 'self_healing.failed', 'self_healing.proposed'],
      tag,
      access: superadmins,
      params: FixPath,
      success: [200, FixView],
      refusals: ['not_found', 'fix_not_proposed', 'fix_busy'],
      handle: ({ caller, path }) => fixes.confirm(caller, path.fix_id),
    }),
    operation({
      method: 'DELETE',
      path: '/api/admin/self-healing/fixes/{fix_id}',
      id: 'deleteFix',
      summary: 'Delete a fix',
      description:
        'Removes a fix from the catalogue. The service does not scan for its fault until the fix is seeded again.',
      records: ['self_healing.deleted'],
      tag,
      access: superadmins,
      params: FixPath,
      success: [204, null],
      refusals: ['not_found'],
      handle: ({ caller, path }) => fixes.remove(caller, path.fix_id),
    }),
    operation({
      method: 'POST',
      path: '/api/admin/self-healing/seed-fixes',
      id: 'seedFixes',
      summary: 'Seed the fixes',
      description:
        'Adds the built-in fixes that are missing. With `overwrite` the existing ones are reset too.',
      records: ['self_healing.seeded'],
      tag,
      access: superadmins,
      query: SeedQuery,
      success: [200, Seeded],
      handle: ({ caller, query }) => fixes.seed(caller, query.overwrite),
    }),
    operation({
      method: 'POST',
      path: '/api/admin/self-healing/scan',
      id: 'scanForFaults',
      summary: 'Scan for faults',
      description:
        'Starts a scan for all faults as a job, and applies automatic repairs. If a requested scan is already running, returns its job. A scheduled scan that is running ends first.',
      tag,
      access: superadmins,
      success: [202, ScanOrder],
      handle: ({ caller }) => scans.start(caller),
    }),
    operation({
      method: 'GET',
      path: '/api/admin/self-healing/stats',
      id: 'fixStats',
      summary: 'Get the statistics of fixes',
      description: 'Returns the number of fixes by state and severity, and the latest scan.',

      tag,
      access: admins,
      success: [200, FixStats],
      handle: ({ caller }) => fixes.stats(caller),
    }),
  ]
}
