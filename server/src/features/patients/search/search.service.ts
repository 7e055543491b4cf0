/** Lists and searches the patients that a caller can see, page by page. */
import { type Clock, isoAt } from '../../../lib/clock.ts'
import type { Cursor } from '../../../lib/cursor.ts'
import { type Page, toPage } from '../../../lib/page.ts'
import { Problem } from '../../../lib/problems.ts'
import type { Member } from '../../../platform/access/index.ts'
import type { KeyRing, TenantKeys } from '../../../platform/crypto/index.ts'
import { type ListMode, listMode, type Scopes } from '../../../platform/db/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { NoteRead } from '../accesses/reads.ts'
import { type ListedPatient, type PatientQuery, patientList } from '../patients.schema.ts'
import type { PatientRow } from '../records/fields.ts'
import { isReadable, openRecord } from '../records/record.ts'
import { faultOf, listedFor } from '../records/visible-fields.ts'
import { seesAll, seesPlace } from '../sight/by-department.ts'
import { type GrantsOfPatients, inSight } from '../sight/sight.store.ts'
import { listPatients } from './search.store.ts'
import { tokensOfBirth, tokensOfSearch } from './tokens.ts'

export interface SearchDeps {
  db: Scopes
  clock: Clock
  keyRing: KeyRing
  noteRead: NoteRead
  log: Logger
}

export interface Search {
  list(caller: Member, query: PatientQuery, from: Cursor | undefined): Promise<Page<ListedPatient>>
}

export function searchService({ db, clock, keyRing, noteRead, log }: SearchDeps): Search {
  return {
    async list(caller, query, from) {
      if (query.deleted && caller.role !== 'admin')
        throw new Problem('role_required', {
          detail: 'deleted: only admins can list deleted patients.',
        })
      const asked = { list: patientList, caller, query, from }
      const { grants, ...page } = await db.inTenant(
        caller.tenant_id,
        async (tx) => {
          const keys = await keyRing.ofTenant(tx, caller.tenant_id)
          const { grants, ...sight } = await inSight(tx, caller, isoAt(clock))
          const found = await listPatients(tx, asked, { sight, ...tokensFor(keys, query) })
          // Decrypts inside the transaction. If this node does not have the data key yet, the transaction is retried.
          const items = found.items.map((row) => openRecord(keys, row))
          return { ...found, items, grants: neededFor(caller, found.items, grants) }
        },
        modeFor(caller, query),
      )
      for (const record of page.items)
        if (!isReadable(record)) log.error({}, faultOf(record.id, record.unreadable))
      const isSearch = Boolean(query.search) || query.birth_date !== undefined
      const ids = page.items.map(({ id }) => id)
      await noteRead(caller, isSearch ? 'patient.searched' : 'patient.listed', ids, { grants })
      return toPage(asked, {
        ...page,
        items: page.items.map((record) => listedFor(caller, record)),
      })
    },
  }
}

/** Returns the grants that allowed the caller to see the given patients. */
function neededFor(
  caller: Member,
  shown: readonly PatientRow[],
  grants: GrantsOfPatients,
): GrantsOfPatients {
  const kept = new Set(shown.filter((row) => !seesPlace(caller, row)).map(({ id }) => id))
  return new Map([...grants].filter(([id]) => kept.has(id)))
}

/** Chooses the planner mode. A search always uses the same index; other plans depend on the caller's department. */
function modeFor(caller: Member, { search, ...query }: PatientQuery): ListMode {
  return search || seesAll(caller) ? listMode(query) : 'filtered list'
}

/** Returns the search tokens of the query. A text without letters or digits has no tokens, so it matches no patient. */
function tokensFor(keys: TenantKeys, { search, birth_date }: PatientQuery) {
  return {
    text: search ? tokensOfSearch(keys, search) : undefined,
    birth: birth_date ? tokensOfBirth(keys, birth_date) : undefined,
  }
}
