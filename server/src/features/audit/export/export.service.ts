/** Streams the audit log. Each page has its own transaction, so a slow client never holds a connection or snapshot. */
import { isoAt } from '../../../lib/clock.ts'
import { Problem } from '../../../lib/problems.ts'
import { type Auditor, requireOwnTenant } from '../../../platform/access/index.ts'
import {
  forCaller,
  type LongReader,
  openLongReader,
  type Replica,
  type Scope,
  scopeOf,
  type TenantTx,
} from '../../../platform/db/index.ts'
import {
  startTrackedJob,
  type TrackedJob,
  type TrackedJobDeps,
} from '../../../platform/jobs/index.ts'
import {
  actorOf,
  appendReturning,
  ordererOf,
  writeVisibleRefusals,
} from '../../../platform/journal/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import * as store from '../audit.store.ts'
import type { ParsedFilters } from '../filters.ts'
import { addNames } from '../names.store.ts'
import type { ExportQuery } from './export.schema.ts'
import { FORMATS } from './formats.ts'
import { exportSlots } from './slots.ts'

/** Entries per page: few transactions, but far below the time limit of a statement. */
const PAGE_SIZE = 500

export interface AuditExports {
  /** Starts an export and returns its file as a stream. @throws Problem 403 for another tenant */
  export(caller: Auditor, query: ExportQuery, filters: ParsedFilters): ExportedFile
}

interface ExportedFile {
  name: string
  type: string
  open(): AsyncGenerator<Buffer, void, undefined>
}

/** How long an export waits for the replica before sending the first byte, in milliseconds. */
const REPLAYED_WITHIN_MS = 2_000

/** Describes the entry about the start of the export. An export reads from the replica only after it has this entry. */
const beginningAt = (start: store.EntryKey) => ({
  name: 'audit export',
  waitMs: REPLAYED_WITHIN_MS,
  readBeginning: (tx: TenantTx) => store.findEntry(tx, start),
})

interface Export {
  caller: Auditor
  query: ExportQuery
  filters: ParsedFilters
  scope: Scope
}

/** The error of an export job that the client or an error ended. */
const ABORTED = 'The export ended before all entries were sent. Start it again.'

type ExportState = 'started' | 'completed' | 'aborted'

export interface ExportDeps extends TrackedJobDeps {
  /** The replica from which exports read; undefined if none is configured. */
  replica: Replica | undefined
}

export function auditExports(deps: ExportDeps): AuditExports {
  const { db, log, replica } = deps
  const takeSlot = exportSlots()

  /**
   * Writes a journal entry about the export. Fails at the start of an export if the session has ended. The end is
   * always journaled.
   * @returns the key of the journal entry
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

  /** Reads a page of entries older than `before`, latest first. @throws Problem 401 if the session has ended */
  async function readPage(
    { caller, query, filters, scope }: Export,
    reader: LongReader,
    before: store.EntryKey,
  ) {
    const isLive = await forCaller(db, caller, (tx) => store.isLive(tx, caller.session_id), 'read')
    if (!isLive) throw new Problem('invalid_token')
    return reader.inScope(scope, async (tx) => {
      const page = { before, limit: PAGE_SIZE }
      return addNames(tx, await store.listEntriesBefore(tx, query, filters, page))
    })
  }

  /** Streams an export. Journals the start before sending the first byte, so that every export has an entry. */
  async function* stream(exported: Export): AsyncGenerator<Buffer, void, undefined> {
    const { caller } = exported
    const release = takeSlot(caller.user_id)
    try {
      await writeVisibleRefusals(db, caller)
      yield* tracked(exported)
    } finally {
      release()
    }
  }

  /** Streams the pages as a job that users can follow and cancel. */
  async function* tracked(exported: Export) {
    const { caller, query, scope } = exported
    const actor = ordererOf(actorOf(caller))
    const order = { kind: 'export', tenant_id: scope, subject_id: null, actor }
    const job = await startTrackedJob(deps, order)
    let error: string | undefined = ABORTED
    try {
      const start = await journal(exported, 'started')
      yield* pagesOf(exported, start, FORMATS[query.format], job)
      error = undefined
    } finally {
      await canFail(job.end(error), 'recording of the end of an export', log)
    }
  }

  async function* pagesOf(
    exported: Export,
    start: store.EntryKey,
    { head, lineOf }: (typeof FORMATS)[keyof typeof FORMATS],
    job: TrackedJob,
  ) {
    let entries = 0
    let isComplete = false
    let reader: LongReader | undefined
    try {
      reader = await openLongReader(db, replica, beginningAt(start))
      if (head !== '') yield Buffer.from(head)
      for (let before: store.EntryKey | undefined = start; before; ) {
        job.signal.throwIfAborted()
        const page = await readPage(exported, reader, before)
        if (page.length > 0) yield Buffer.from(page.map(lineOf).join(''))
        entries += page.length
        job.report({ done: entries })
        before = page.length === PAGE_SIZE ? page.at(-1) : undefined
      }
      isComplete = true
    } finally {
      await reader?.close()
      if (!isComplete)
        await canFail(journal(exported, 'aborted', entries), 'recording of an aborted export', log)
    }
    // Aborts the stream if this write fails, so that every export that a client received completely has an entry.
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
