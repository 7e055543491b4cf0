/** Who gets what of self-healing: the lines of the table about it. */
import { admins, type Line, nothing, operators } from './lines.ts'

export const SELF_HEALING: readonly Line[] = [
  { name: 'GET /api/admin/self-healing/fixes', aim: nothing, own: admins(200) },
  { name: 'GET /api/admin/self-healing/stats', aim: nothing, own: admins(200) },
  {
    // What is not proposed is confirmed by nobody.
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
]
