/** The business rules of patient records. Each command runs in one transaction and writes one journal entry. */
import { type Clock, isoAt } from '../../../lib/clock.ts'
import type { JsonText } from '../../../lib/json-bytes.ts'
import { orNotFound, Problem, type Refuse } from '../../../lib/problems.ts'
import type { Caller, ClinicAdmin, Member } from '../../../platform/access/index.ts'
import type { KeyRing, TenantKeys } from '../../../platform/crypto/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { differing } from '../../../platform/journal/index.ts'
import type { NoteRead } from '../accesses/reads.ts'
import { textFor } from '../cache/cached-patient.ts'
import type { PatientCache } from '../cache/patient-cache.ts'
import type { CreatedPatient, NewPatient, Patient, PatientChange } from '../patients.schema.ts'
import { findDuplicates } from '../search/search.store.ts'
import { kindsOf, tokensOf, tokensOfBirth, tokensOfName } from '../search/tokens.ts'
import { redactedFor } from '../sight/by-department.ts'
import { inSight } from '../sight/sight.store.ts'
import type { Sights } from '../sight/sight.ts'
import { type PatientFields, type PatientRow, SEALED_FIELDS, type SealedField } from './fields.ts'
import type { GuessedIdentifiers } from './guessed-identifiers.ts'
import { openRecord, type PatientRecord, sealFields } from './record.ts'
import { appendPatientChange } from './records.journal.ts'
import * as store from './records.store.ts'
import { type ChosenPlace, checkPlace, requirePlace } from './require-place.ts'
import { readable, shownTo } from './visible-fields.ts'

export interface PatientRecordsDeps {
  db: Scopes
  clock: Clock
  keyRing: KeyRing
  sights: Sights
  cache: PatientCache
  noteRead: NoteRead
  guessed: GuessedIdentifiers
}

export interface PatientRecords {
  /** Rejects a department or an attending doctor that the tenant does not have. */
  checkReferences(caller: Member, place: ChosenPlace, refuse: Refuse): Promise<void>
  get(caller: Member, id: number): Promise<JsonText<Patient>>
  create(caller: Member, patient: NewPatient): Promise<CreatedPatient>
  update(caller: Member, id: number, change: PatientChange): Promise<Patient>
  delete(caller: ClinicAdmin, id: number): Promise<void>
  restore(caller: ClinicAdmin, id: number): Promise<Patient>
}

const NOTHING_KNOWN: Omit<PatientFields, 'full_name'> = {
  birth_date: null,
  sex: null,
  identifiers: [],
  phone: null,
  email: null,
  address: null,
  allergies: [],
  notes: null,
}

export function patientRecordsService(deps: PatientRecordsDeps): PatientRecords {
  const { db, clock, keyRing, sights, cache, noteRead, guessed } = deps

  /** Returns the ids of patients with the same name and birth date whom the caller can see. */
  async function duplicatesOf(
    tx: TenantTx,
    caller: Caller,
    keys: TenantKeys,
    { id, full_name, birth_date }: PatientRecord,
  ): Promise<number[]> {
    if (birth_date === null) return []
    return findDuplicates(tx, id, {
      names: tokensOfName(keys, full_name),
      births: tokensOfBirth(keys, birth_date),
      sight: (await inSight(tx, caller, isoAt(clock))).condition,
    })
  }

  return {
    checkReferences: (caller, place, refuse) =>
      // The transaction is not read-only, because the check locks the attending doctor.
      db.inTenant(caller.tenant_id, (tx) => checkPlace(tx, caller.tenant_id, place, refuse)),

    async get(caller, id) {
      const found = orNotFound(await cache.get(caller.tenant_id, id), 'patient')
      const sight = orNotFound(await sights.of(caller, found), 'patient')
      const patient = readable(found)
      await noteRead(caller, 'patient.read', [id], sight)
      return textFor(caller, patient)
    },

    create: (caller, patient) => {
      refuseClinical(caller, patient)
      const { department_id = caller.unit_id, attending_doctor_id = null, ...given } = patient
      const { tenant_id } = caller
      const create = async (tx: TenantTx) => {
        await requirePlace(tx, tenant_id, { department_id, attending_doctor_id })
        const keys = await keyRing.forWriting(tx, tenant_id)
        const [id] = (await store.nextPatientIds(tx, 1)) as [number]
        const fields = { ...NOTHING_KNOWN, ...given }
        const place = { id, tenant_id, department_id, attending_doctor_id }
        const row = await store.insertPatient(tx, { ...place, ...sealFields(keys, id, fields) })
        store.insertTokens(tx, tenant_id, tokensOf(keys, id, fields))
        const record = readable(openRecord(keys, row))
        const possible_duplicates = await duplicatesOf(tx, caller, keys, record)
        await appendPatientChange(tx, caller, 'patient.created', record, {
          fields: Object.keys(patient),
        })
        return { ...shownTo(caller, record), possible_duplicates }
      }
      return guessed(caller, patient, () => db.inTenant(tenant_id, create))
    },

    async update(caller, id, { version, ...change }) {
      refuseClinical(caller, change)
      const { tenant_id } = caller
      const update = async (tx: TenantTx) => {
        await requirePlace(tx, tenant_id, change)
        const row = orNotFound(await store.lockPatient(tx, id), 'patient')
        const sight = orNotFound(await sights.within(tx, caller, row), 'patient')
        if (version !== undefined && version !== row.version) throw outdated(row.version)
        const keys = await keyRing.forWriting(tx, tenant_id)
        const before = readable(openRecord(keys, row))
        const fields = differing(before, change)
        if (fields.length === 0) return { record: before, sight, isChanged: false }
        const after = await rewrite(tx, keys, row, { before, change, fields })
        await appendPatientChange(tx, caller, 'patient.updated', after, { fields, ...sight })
        return { record: after, sight, isChanged: true }
      }
      const { record, sight, isChanged } = await guessed(caller, change, () =>
        db.inTenant(tenant_id, update),
      )
      // Journals a read, because the response to an update without changes still shows the record.
      if (!isChanged) await noteRead(caller, 'patient.read', [id], sight)
      return shownTo(caller, record)
    },

    delete: (caller, id) =>
      db.inTenant(caller.tenant_id, async (tx) => {
        orNotFound(await store.lockPatient(tx, id), 'patient')
        await appendPatientChange(
          tx,
          caller,
          'patient.deleted',
          await store.markPatientDeleted(tx, id, true),
        )
      }),

    restore: (caller, id) =>
      db.inTenant(caller.tenant_id, async (tx) => {
        orNotFound(await store.lockPatient(tx, id, 'deleted'), 'patient')
        const keys = await keyRing.ofTenant(tx, caller.tenant_id)
        const record = readable(openRecord(keys, await store.markPatientDeleted(tx, id, false)))
        await appendPatientChange(tx, caller, 'patient.restored', record)
        return shownTo(caller, record)
      }),
  }
}

interface Rewriting {
  before: PatientRecord
  change: Omit<PatientChange, 'version'>
  /** The names of the fields that the update changes. */
  fields: readonly string[]
}

/**
 * Writes the changed fields of a patient. If the row uses an older data key, encrypts all fields and search tokens with
 * the current key. The key of the row applies to all its fields. If only some fields were encrypted again, the key
 * rotation would not find the others.
 */
async function rewrite(
  tx: TenantTx,
  keys: TenantKeys,
  row: PatientRow,
  { before, change, fields }: Rewriting,
): Promise<PatientRecord> {
  const after = { ...before, ...change }
  const changed = SEALED_FIELDS.filter((field) => fields.includes(field))
  const resealed = row.data_key_id === keys.currentId ? changed : SEALED_FIELDS
  const { department_id, attending_doctor_id } = after
  const written = await store.updatePatient(tx, row.id, {
    department_id,
    attending_doctor_id,
    ...sealFields(keys, row.id, only(after, resealed)),
  })
  store.deleteTokens(tx, row.id, kindsOf(changed))
  store.insertTokens(tx, row.tenant_id, tokensOf(keys, row.id, only(after, resealed)))
  return readable(openRecord(keys, written))
}

function only(fields: PatientFields, names: readonly SealedField[]): Partial<PatientFields> {
  return Object.fromEntries(names.map((name) => [name, fields[name]]))
}

function refuseClinical(caller: Caller, given: Partial<PatientFields>): void {
  const kept = redactedFor(caller).filter((field) => field in given)
  if (kept.length > 0)
    throw new Problem('clinical_fields', {
      detail: `${kept.join(', ')}: your role cannot view or edit this field.`,
    })
}

const outdated = (version: number) =>
  new Problem('conflict', {
    detail: `version: the record was changed and now has version ${version}. Read it again and retry.`,
  })
