/** Lists who accessed a patient's record, and exports the record together with its accesses as a file. */
import { type Clock, isoAt } from '../../../lib/clock.ts'
import type { Cursor } from '../../../lib/cursor.ts'
import { type Found, type Page, toPage } from '../../../lib/page.ts'
import { orNotFound } from '../../../lib/problems.ts'
import type { ClinicAdmin, Member } from '../../../platform/access/index.ts'
import { type KeyRing, type TenantKeys, UnreadableError } from '../../../platform/crypto/index.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import type { LoadPatient } from '../records/load.ts'
import { readable } from '../records/visible-fields.ts'
import type { Sights } from '../sight/sight.ts'
import { type Access, type AccessQuery, accessList } from './accesses.schema.ts'
import { type AccessRow, listAccesses } from './accesses.store.ts'
import type { NoteRead } from './reads.ts'

export interface AccessesDeps {
  db: Scopes
  clock: Clock
  keyRing: KeyRing
  sights: Sights
  load: LoadPatient
  noteRead: NoteRead
}

export interface Accesses {
  list(
    caller: Member,
    id: number,
    query: AccessQuery,
    from: Cursor | undefined,
  ): Promise<Page<Access>>
  /** Streams the record and its accesses as JSON. Reads no further while the client is slow to receive. */
  export(caller: ClinicAdmin, id: number): Promise<AsyncIterable<Uint8Array>>
}

const PAGE = 100
/** A cursor before every entry. The list starts with the latest entry. */
const LATEST: Cursor['key'] = ['9999-12-31T23:59:59.999Z', Number.MAX_SAFE_INTEGER]

export function accessesService(deps: AccessesDeps): Accesses {
  const { db, clock, keyRing, sights, load, noteRead } = deps

  /** Finds a record that the caller can see. Also finds a record that cannot be decrypted. @throws Problem 404 */
  async function find(caller: Member, id: number) {
    const found = orNotFound(await load(caller.tenant_id, id), 'patient')
    orNotFound(await sights.of(caller, found), 'patient')
    return found
  }

  function read(
    caller: Member,
    id: number,
    query: AccessQuery,
    from: Cursor | undefined,
  ): Promise<Found<Access>> {
    const asked = { list: accessList, caller, query, from }
    return db.inTenant(
      caller.tenant_id,
      async (tx) => {
        const keys = await keyRing.ofTenant(tx, caller.tenant_id)
        const found = await listAccesses(tx, id, asked)
        return { ...found, items: found.items.map((row) => accessOf(keys, row)) }
      },
      'filtered list',
    )
  }

  async function* pages(caller: ClinicAdmin, id: number): AsyncIterable<Access[]> {
    const query: AccessQuery = { limit: PAGE, sort_by: 'created_at', sort_order: 'desc' }
    for (let key: Cursor['key'] | undefined = LATEST; key; ) {
      const from = { key, page: 1, total: 0, estimated: false }
      const { items, more } = await read(caller, id, query, from)
      yield items
      const last: Access | undefined = more ? items.at(-1) : undefined
      key = last && [last.created_at, last.id]
    }
  }

  return {
    async list(caller, id, query, from) {
      await find(caller, id)
      const asked = { list: accessList, caller, query, from }
      return toPage(asked, await read(caller, id, query, from))
    },

    async export(caller, id) {
      const patient = readable(await find(caller, id))
      await noteRead(caller, 'patient.exported', [id])
      return asJson({ exported_at: isoAt(clock), patient }, pages(caller, id))
    },
  }
}

function accessOf(keys: TenantKeys, row: AccessRow): Access {
  const { fields, grant_id, purpose, sealed_reason, granted_at, expires_at, ended_at, ...entry } =
    row
  if (fields) Object.assign(entry, { fields })
  if (!grant_id || !sealed_reason || !purpose || !granted_at || !expires_at) return entry
  const reason = reasonOf(keys, grant_id, sealed_reason)
  return { ...entry, grant: { id: grant_id, purpose, reason, granted_at, expires_at, ended_at } }
}

function reasonOf(keys: TenantKeys, row: number, sealed: Buffer): string | null {
  try {
    return keys.open(sealed, { table: 'patient_grants', column: 'sealed_reason', row }).toString()
  } catch (error) {
    if (error instanceof UnreadableError) return null
    throw error
  }
}

/** Streams one JSON object: the fields of `head`, and then `accesses`, which are read page by page. */
async function* asJson(
  head: object,
  pages: AsyncIterable<readonly Access[]>,
): AsyncIterable<Uint8Array> {
  yield Buffer.from(`${JSON.stringify(head).slice(0, -1)},"accesses":[`)
  let separator = ''
  for await (const page of pages)
    for (const access of page) {
      yield Buffer.from(`${separator}\n${JSON.stringify(access)}`)
      separator = ','
    }
  yield Buffer.from('\n]}\n')
}
