/** `/api/admin/self-healing`. */
import { admins, superadmins } from '../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../platform/http/index.ts'
import { Fix, FixPage, FixPath, FixStats, Seeded, SeedQuery } from './fixes.schema.ts'
import type { Fixes } from './fixes.service.ts'

const tag = 'Self-healing'

export function fixOperations(fixes: Fixes): AnyOperation[] {
  return [
    operation({
      method: 'GET',
      path: '/api/admin/self-healing/fixes',
      id: 'listFixes',
      summary: 'What can be wrong, what is, and what a repair would do; all on one page',
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
      summary: 'Repairs what is found now, looks again, and answers the fix',
      tag,
      access: superadmins,
      params: FixPath,
      success: [200, Fix],
      refusals: ['not_found', 'fix_not_proposed', 'fix_busy'],
      handle: ({ caller, path }) => fixes.confirm(caller, path.fix_id),
    }),
    operation({
      method: 'DELETE',
      path: '/api/admin/self-healing/fixes/{fix_id}',
      id: 'deleteFix',
      summary: 'Takes a fix out of the catalogue, until it is seeded again',
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
      summary: 'Installs the built-in fixes that are not there; with overwrite resets the others',
      tag,
      access: superadmins,
      query: SeedQuery,
      success: [200, Seeded],
      handle: ({ caller, query }) => fixes.seed(caller, query.overwrite),
    }),
    operation({
      method: 'GET',
      path: '/api/admin/self-healing/stats',
      id: 'fixStats',
      summary: 'How many fixes there are of each state and severity, and the last scan',
      tag,
      access: admins,
      success: [200, FixStats],
      handle: ({ caller }) => fixes.stats(caller),
    }),
  ]
}
