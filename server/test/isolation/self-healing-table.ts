/** The access table of self-healing. */
import { admins, type Line, nothing, operators } from './lines.ts'

export const SELF_HEALING: readonly Line[] = [
  { name: 'GET /api/admin/self-healing/fixes', aim: nothing, own: admins(200) },
  { name: 'GET /api/admin/self-healing/stats', aim: nothing, own: admins(200) },
  {
    // No role can confirm a fix that was not proposed.
    name: 'POST /api/admin/self-healing/confirm/{fix_id}',
    aim: ({ fixId }) => ({ path: { fix_id: fixId } }),
    own: operators(409),
  },
  {
    name: 'DELETE /api/admin/self-healing/fixes/{fix_id}',
    aim: () => ({ path: { fix_id: 999_999 } }),
    own: operators(404),
  },
  {
    name: 'POST /api/admin/self-healing/seed-fixes',
    aim: nothing,
    own: operators(200),
  },
  {
    // A scan would write the findings of every tenant.
    name: 'POST /api/admin/self-healing/scan',
    what: 'with an unknown parameter',
    aim: () => ({ query: { unknown: 1 } }),
    own: operators(422),
  },
]
