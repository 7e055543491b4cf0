/** Builds the overview. Reads the parts of all features in one transaction, or each part separately if that fails. */
import { orNotFound } from '../../../lib/problems.ts'
import type { Time } from '../../../lib/time.ts'
import { type Admin, requireOwnTenant } from '../../../platform/access/index.ts'
import {
  inScope,
  limitStatements,
  type Scope,
  type Scopes,
  scopeOf,
} from '../../../platform/db/index.ts'
import type {
  OverviewPart,
  OverviewParts,
  OverviewView,
} from '../../../platform/feature/feature.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { findTenant } from '../../tenants/index.ts'
import type { Overview, OverviewQuery } from './overview.schema.ts'

/** The time limit of each SQL statement, in milliseconds. */
const PATIENCE_MS = 1_000

export interface OverviewDeps {
  db: Scopes
  clock: Time
  log: Logger
  attention: OverviewParts
  counts: OverviewParts
  health: () => Overview['health']
}

export interface OverviewService {
  /** Reads the overview. @throws Problem 403 for another tenant, 404 for an unknown tenant */
  read(caller: Admin, query: OverviewQuery): Promise<Overview>
}

interface NamedPart {
  name: string
  part: OverviewPart
}

/** The values of the parts by name. Parts that failed are absent. */
type ReadParts = ReadonlyMap<string, unknown>

export function overviewService(deps: OverviewDeps): OverviewService {
  const { db, clock, log, attention, counts } = deps
  const named = (group: string, parts: OverviewParts): NamedPart[] =>
    Object.entries(parts).map(([name, part]) => ({ name: `${group}.${name}`, part }))
  const all = [...named('attention', attention), ...named('counts', counts)]

  const readIn = (scope: Scope, parts: readonly NamedPart[], view: OverviewView) =>
    inScope(
      db,
      scope,
      async (tx) => {
        limitStatements(tx, PATIENCE_MS)
        return Promise.all(
          parts.map(async ({ name, part }) => [name, await part.read(tx, view)] as const),
        )
      },
      'list',
    )

  /** Reads the parts in one transaction. If that fails, reads each separately and leaves out failed parts. */
  async function readParts(
    scope: Scope,
    parts: readonly NamedPart[],
    view: OverviewView,
  ): Promise<ReadParts> {
    if (parts.length === 0) return new Map()
    try {
      return new Map(await readIn(scope, parts, view))
    } catch (error) {
      log.warn({ err: error }, 'overview query failed; reading each part separately')
    }
    const read = new Map<string, unknown>()
    let failure: unknown
    for (const part of parts)
      try {
        for (const [name, value] of await readIn(scope, [part], view)) read.set(name, value)
      } catch (error) {
        failure = error
        log.warn({ err: error, part: part.name }, 'overview part failed')
      }
    // If every part failed, the database itself is unavailable or overloaded.
    if (read.size === 0) throw failure
    return read
  }

  async function requireTenant(tenantId: number): Promise<void> {
    orNotFound(await db.inTenant(tenantId, (tx) => findTenant(tx, tenantId), 'read'), 'tenant')
  }

  return {
    async read(caller, { tenant_id }) {
      requireOwnTenant(caller, tenant_id)
      const scope = scopeOf(caller, tenant_id)
      const now = clock.now()
      const view: OverviewView = {
        tenantId: scope,
        ofInstallation: caller.role === 'superadmin' && scope === caller.tenant_id ? null : scope,
        now: new Date(now).toISOString(),
      }
      const isWide = ({ part }: NamedPart) =>
        caller.role === 'superadmin' && part.isOfInstallation === true
      const read = await Promise.all([
        readParts(
          scope,
          all.filter((part) => !isWide(part)),
          view,
        ),
        readParts(null, all.filter(isWide), view),
        tenant_id === undefined ? undefined : requireTenant(tenant_id),
      ])
      const values = new Map([...read[0], ...read[1]])
      const groupOf = (group: string, parts: OverviewParts) =>
        Object.fromEntries(
          Object.keys(parts).map((name) => [name, values.get(`${group}.${name}`) ?? null]),
        )
      return {
        as_of: view.now,
        tenant_id: scope,
        attention: groupOf('attention', attention),
        counts: groupOf('counts', counts),
        health: deps.health(),
        missing: all.map(({ name }) => name).filter((name) => !values.has(name)),
      }
    },
  }
}
