/** Break-glass access: a clinician states a reason and opens the record of a patient whom they otherwise cannot see. */
import { type Clock, HOUR, isoAt, MINUTE, SECOND } from '../../../lib/clock.ts'
import { orNotFound, Problem } from '../../../lib/problems.ts'
import type { Member } from '../../../platform/access/index.ts'
import type { KeyRing, TenantKeys } from '../../../platform/crypto/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import type { Mailer } from '../../../platform/mail/index.ts'
import type { Throttle, ThrottleRule } from '../../../platform/throttle/index.ts'
import { listAdmins } from '../../users/index.ts'
import type { BreakGlass, Patient } from '../patients.schema.ts'
import type { PatientPlace } from '../records/fields.ts'
import { openRecord } from '../records/record.ts'
import { appendPatientChange } from '../records/records.journal.ts'
import { findPatient } from '../records/records.store.ts'
import { readable, shownTo } from '../records/visible-fields.ts'
import { findByIdentifier } from '../search/search.store.ts'
import { tokensOfIdentifier } from '../search/tokens.ts'
import { breakGlassMail } from './break-glass.mail.ts'
import { seesPlace } from './by-department.ts'
import * as store from './grants.store.ts'

const LASTS = 4 * HOUR
const MOST = { grants: 10, within: HOUR }
/** Throttles a user who requests unknown patients, because such a user may be guessing patient ids. */
const UNKNOWN_BY_USER: ThrottleRule = {
  name: 'break-glass unknown',
  free: MOST.grants,
  first: MINUTE / SECOND,
  longest: HOUR / SECOND,
}

export interface BreakGlassDeps {
  db: Scopes
  clock: Clock
  keyRing: KeyRing
  mailer: Mailer
  throttle: Throttle
}

/** Grants break-glass access and returns the record. @throws Problem 404 if unknown, 429 after too many calls */
export type BreaksGlass = (caller: Member, asked: BreakGlass) => Promise<Patient>

/** Creates the break-glass command. The grant lets the caller read and change the record. */
export function breakingGlass({
  db,
  clock,
  keyRing,
  mailer,
  throttle,
}: BreakGlassDeps): BreaksGlass {
  /** Checks the number of the user's recent grants. @throws Problem 429 if the user has reached the limit */
  async function requireRoom(tx: TenantTx, userId: number): Promise<void> {
    const taken = await store.listGrantedSince(tx, userId, isoAt(clock, -MOST.within))
    const oldest = taken.at(-MOST.grants)
    if (oldest === undefined) return
    const wait = Date.parse(oldest) + MOST.within - clock.now()
    throw new Problem('too_many_requests', {
      detail: `Break-glass limit reached (${MOST.grants} per hour). Try again after the time in Retry-After.`,
      retryAfter: Math.max(Math.ceil(wait / SECOND), 1),
    })
  }

  async function find(tx: TenantTx, keys: TenantKeys, { patient_id, identifier }: BreakGlass) {
    const id = identifier
      ? await findByIdentifier(tx, tokensOfIdentifier(keys, identifier))
      : patient_id
    return id === undefined ? undefined : findPatient(tx, id)
  }

  async function notifyAdmins(
    tx: TenantTx,
    caller: Member,
    patient: PatientPlace,
    purpose: BreakGlass['purpose'],
  ): Promise<void> {
    const seesAnyway = seesPlace(caller, patient)
    const notice = { by: caller.email, patientId: patient.id, purpose, seesAnyway, at: clock.now() }
    for (const { email: to } of await listAdmins(tx))
      await mailer.send(tx, { to, ...breakGlassMail(notice) })
  }

  async function grant(caller: Member, asked: BreakGlass): Promise<Patient> {
    const { user_id, tenant_id } = caller
    const { purpose, reason } = asked
    return db.inTenant(tenant_id, async (tx) => {
      if (!(await store.lockGrantee(tx, caller))) throw new Problem('invalid_token')
      await requireRoom(tx, user_id)
      const keys = await keyRing.forWriting(tx, tenant_id)
      const row = orNotFound(await find(tx, keys, asked), 'patient')
      const record = readable(openRecord(keys, row))
      const id = await store.nextGrantId(tx)
      const place = { table: 'patient_grants', column: 'sealed_reason', row: id }
      await store.insertGrant(tx, {
        id,
        tenant_id,
        patient_id: row.id,
        user_id,
        purpose,
        sealed_reason: keys.seal(reason, place),
        granted_at: isoAt(clock),
        expires_at: isoAt(clock, LASTS),
      })
      await appendPatientChange(tx, caller, 'patient.break_glass', record, {
        grant_id: id,
        purpose,
      })
      await notifyAdmins(tx, caller, row, purpose)
      return shownTo(caller, record)
    })
  }

  return (caller, asked) => {
    const count = { rule: UNKNOWN_BY_USER, of: String(caller.user_id) }
    return throttle.countRefusals(count, 404, () => grant(caller, asked))
  }
}
