/** The journal's rows, spread over the last twelve months, and the partitions that hold them. */
import type pg from 'pg'
import type { Value } from './copy.ts'
import { tenantId, userId } from './people.ts'
import { chance } from './random.ts'
import { emailOf, type Size } from './sizes.ts'

const MONTHS = 12
const SPAN_MS = 350 * 86_400_000

/** The frequency of each action in percent. */
const SHARES: [action: string, resource: string, share: number][] = [
  ['auth.login', 'session', 30],
  ['auth.token_refreshed', 'session', 40],
  ['auth.logout', 'session', 10],
  ['auth.login_failed', 'session', 6],
  ['access.refused', 'operation', 4],
  ['preferences.updated', 'preferences', 4],
  ['user.updated', 'user', 3],
  ['user.created', 'user', 1],
  ['user.blocked', 'user', 1],
  ['user.role_changed', 'user', 1],
]
const ACTIONS = SHARES.flatMap(([action, resource, share]) =>
  Array.from({ length: share }, () => [action, resource] as const),
)

/** Creates partitions for the months before the current one. The service creates the later ones. */
export async function makePastPartitions(client: pg.Client): Promise<void> {
  await client.query('select ensure_journal_partitions(0, $1)', [MONTHS])
}

export const ENTRY_COLUMNS = [
  'id',
  'tenant_id',
  'user_id',
  'user_email',
  'action',
  'resource_type',
  'resource_id',
  'changes',
  'ip',
  'user_agent',
  'request_id',
  'created_at',
]
const BASE = 1000

/** Returns the entries `from` to `until`. Their ids rise with time; their tenants and users are random. */
export function* entryRows(
  size: Size,
  from: number,
  until: number,
  now: number,
): Generator<Value[]> {
  const random = chance(from + 3)
  const step = SPAN_MS / (size.tenants * size.entriesPerTenant)
  for (let entry = from; entry < until; entry += 1) {
    const tenant = random.below(size.tenants)
    const user = random.below(size.usersPerTenant)
    const id = userId(size, tenant, user)
    const [action, resource] = random.pick(ACTIONS)
    yield [
      BASE + entry,
      tenantId(tenant),
      id,
      emailOf(tenant, user),
      action,
      resource,
      resource === 'session' ? random.uuid() : id,
      resource === 'user' ? '{"before":{"role":"nurse"},"after":{"role":"doctor"}}' : null,
      `10.${tenant >> 8}.${tenant & 255}.${user & 255}`,
      'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
      random.uuid(),
      new Date(now - SPAN_MS + entry * step).toISOString(),
    ]
  }
}
