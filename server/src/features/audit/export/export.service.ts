/**
 * Exports the audit log as a stream. Each page is read in a transaction of its own, so a slow receiver holds neither a
 * connection nor a snapshot, and memory holds one page.
 */
import { isoAt } from '../../../lib/clock.ts'
import { Problem } from '../../../lib/problems.ts'
import { type Auditor, requireOwnTenant } from '../../../platform/access/index.ts'
import { forCaller, inScope, type Scope, type Scopes, scopeOf } from '../../../platform/db/index.ts'
import {
  actorOf,
  appendReturning,
  ordererOf,
  writeSeenRefusals,
} from '../../../platform/journal/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import * as store from '../audit.store.ts'
import type { ParsedFilters } from '../filters.ts'
import { addNames } from '../names.store.ts'
import type { ExportQuery } from './export.schema.ts'
import { FORMATS } from './formats.ts'
import { exportSlots } from './slots.ts'

/** Enough to make the cost of a transaction small, few enough to stay far below its time limit. */
const PAGE_SIZE = 500

export interface AuditExports {
  /** Returns the file. @throws Problem 403 for another tenant */
  export(caller: Auditor, query: ExportQuery, filters: ParsedFilters): ExportedFile
}

interface ExportedFile {
  name: string
  type: string
  open(): AsyncGenerator<Buffer, void, undefined>
}

/** The filters of an export, and its caller. */
interface Export {
  caller: Auditor
  query: ExportQuery
  filters: ParsedFilters
  scope: Scope
}

type ExportState = 'started' | 'completed' | 'aborted'

/** Returns the service of exports. */
export function auditExports(db: Scopes, log: Logger): AuditExports {
  const takeSlot = exportSlots()

  /**
   * Journals the state of an export. The start is refused once the session has ended. The end is journaled in any case.
   * @returns the position of the entry
   */
  function journal(
    { caller, query: { format, ...filters }, scope }: Export,
    state: ExportState,
    entries?: number,
  ): Promise<store.EntryKey> {
    const actor = state === 'started' ? actorOf(caller) : ordererOf(actorOf(caller))
    return forCaller(db, caller, (tx) =>
      appendReturning(tx, actor, {
        action: 'audit.exported',
        tenant_id: scope ?? caller.tenant_id,
        resource_type: 'audit_log',
        changes: { state, format, filters, ...(entries === undefined ? {} : { entries }) },
      }),
    )
  }

  /** Reads the entries before a position, latest first. @throws Problem 401 once the caller's session has ended */
  async function readPage({ caller, query, filters, scope }: Export, before: store.EntryKey) {
    const isLive = await forCaller(db, caller, (tx) => store.isLive(tx, caller.session_id), 'read')
    if (!isLive) throw new Problem('invalid_token')
    return inScope(
      db,
      scope,
      async (tx) => {
        const page = { before, limit: PAGE_SIZE }
        return addNames(tx, await store.listEntriesBefore(tx, query, filters, page))
      },
      'filtered list',
    )
  }

  /** The first entry is journaled before any byte is sent, so that nothing leaves without a trace. */
  async function* stream(exported: Export): AsyncGenerator<Buffer, void, undefined> {
    const { caller, query } = exported
    const release = takeSlot(caller.user_id)
    try {
      await writeSeenRefusals(db, caller)
      const start = await journal(exported, 'started')
      yield* pagesOf(exported, start, FORMATS[query.format])
    } finally {
      release()
    }
  }

  async function* pagesOf(
    exported: Export,
    start: store.EntryKey,
    { head, lineOf }: (typeof FORMATS)[keyof typeof FORMATS],
  ) {
    let entries = 0
    let isComplete = false
    try {
      if (head !== '') yield Buffer.from(head)
      for (let before: store.EntryKey | undefined = start; before; ) {
        const page = await readPage(exported, before)
        if (page.length > 0) yield Buffer.from(page.map(lineOf).join(''))
        entries += page.length
        before = page.length === PAGE_SIZE ? page.at(-1) : undefined
      }
      isComplete = true
    } finally {
      if (!isComplete)
        await canFail(journal(exported, 'aborted', entries), 'journaling an aborted export', log)
    }
    // A failure here breaks the stream off, so no complete export lacks its entry.
    await journal(exported, 'completed', entries)
  }

  return {
    export(caller, query, filters) {
      requireOwnTenant(caller, query.tenant_id)
      const scope = scopeOf(caller, query.tenant_id)
      const whose = scope === null ? 'all-tenants' : `tenant-${scope}`
      const at = isoAt(db.clock).replaceAll(/[-:]|\.\d+/g, '')
      return {
        name: `audit-${whose}-${at}.${query.format}`,
        type: FORMATS[query.format].contentType,
        open: () => stream({ caller, query, filters, scope }),
      }
    },
  }
}
