import type { Role } from '../../src/lib/roles.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { signInAs } from '../support/people.ts'
import { sealedEntryOf } from '../support/sealing.ts'
import type { Service } from '../support/service.ts'
import {
  furnishAccount,
  furnishBackup,
  furnishFix,
  furnishList,
  furnishMessenger,
  furnishPatient,
  furnishPayment,
  furnishSession,
  furnishTicket,
  furnishVerification,
  furnishWebhook,
  MARK,
  patientFor,
} from './furnish.ts'

export const CALLERS = [
  'superadmin',
  'admin',
  'doctor',
  'nurse',
  'receptionist',
  'auditor',
  'nobody',
] as const
/** The operation that needs a session of the target user. */
export const END_USER_SESSION = 'DELETE /api/admin/users/{user_id}/sessions/{jti}'
export type CallerKind = (typeof CALLERS)[number]

/** The records of a tenant that a call can target. */
export interface Target {
  tenantId: number
  subdomain: string
  userId: number
  doctorId: number
  departmentId: number
  /** A session of one of the tenant's users. */
  sessionId: string
  refresh: string
  webhookId: number
  /** A delivery to the webhook. */
  deliveryId: number
  /** A replay of the webhook with pending deliveries. */
  replayId: number
  paymentId: number
  /** A failed notification of the clinic's payment. */
  notificationId: number
  /** A patient of the clinic's department. The patient is already deleted if the call restores patients. */
  patientId: number
  backupId: string
  /** The job that created the backup. */
  jobId: string
  /** A fix from the catalogue, which belongs to no tenant. */
  fixId: number
  /** A tenant that the call may delete. */
  spareTenantId: number
  deletedTenantId: number
  /** An entry of the clinic in the transparency log. */
  sealedEntryId: number
}

export interface Scene {
  service: Service
  root: Person
  own: Clinic
  foreign: Clinic
  third: Clinic
  /**
   * Returns a token that is used for one call only, because the call may end the session. Undefined for a caller
   * without a session.
   */
  tokenOf(kind: CallerKind, operation: string): Promise<string | undefined>
  /** Creates records of a clinic for one call of the operation. */
  freshTarget(clinic: Clinic, operation: string): Promise<Target>
  /** The foreign clinic's records. */
  foreignTarget: Target
  /** Returns every row of the foreign clinic as text. */
  snapshot(): Promise<Record<string, string[]>>
}

export async function openScene(service: Service): Promise<Scene> {
  const root = await superadmin(service)
  const own = await makeClinic(service, root, 'own')
  const foreign = await makeClinic(service, root, MARK)
  const third = await makeClinic(service, root, 'third')
  const { sql } = service.database
  /** Creates a webhook of the clinic. Deletes earlier webhooks, because their number is limited. */
  const freshWebhook = async (clinic: Clinic) => {
    await sql('delete from webhooks where tenant_id = $1', [clinic.id])
    return furnishWebhook(service, clinic)
  }
  await furnish(service, root, foreign)
  const foreignWebhook = await furnishWebhook(service, foreign)
  const foreignPayment = await furnishPayment(service, foreign)
  const foreignPatient = await furnishPatient(service, foreign)
  const foreignBackup = await furnishBackup(service, foreign)
  await furnishTicket(service, foreign.people.admin, foreignBackup.backupId)
  const foreignFix = await furnishFix(service, foreign)
  const sealedEntryId = await sealedEntryOf(service, foreign.id)
  await furnishVerification(service, foreign)
  // Signs the heads and starts a verification, which a superadmin's requests would do in the foreign clinic otherwise.
  await service.call('GET', '/api/admin/audit/heads', { token: root.token })
  await service.call('POST', '/api/admin/audit/verify', { token: root.token })
  /** Tokens that calls used only for reads. A read does not end the session, so the tokens can be used again. */
  const unspent = new Map<CallerKind, string>()
  return {
    service,
    root,
    own,
    foreign,
    third,
    async tokenOf(kind, operation) {
      if (kind === 'nobody') return undefined
      const known = unspent.get(kind)
      if (!operation.startsWith('GET ')) unspent.delete(kind)
      if (known !== undefined) return known
      const person = kind === 'superadmin' ? root : own.people[kind]
      const { email, password } = person
      const subdomain = kind === 'superadmin' ? 'platform' : own.subdomain
      const { token } = await signInAs(service, { email, password, subdomain })
      if (operation.startsWith('GET ')) unspent.set(kind, token)
      return token
    },
    async freshTarget(clinic, operation) {
      const insert = async (text: string, values: unknown[]) =>
        (await sql<{ id: number }>(`${text} returning id`, values))[0]?.id as number
      const tag = crypto.randomUUID()
      const user = (role: Role) =>
        insert(
          `insert into users (tenant_id, email, full_name, role, password_hash, email_verified_at)
           values ($1, $2, 'Fresh', $3, 'none', now())`,
          [clinic.id, `${role}-${tag}@fresh.test`, role],
        )
      const userId = await user('nurse')
      return {
        tenantId: clinic.id,
        subdomain: clinic.subdomain,
        userId,
        doctorId: await user('doctor'),
        departmentId: await insert('insert into departments (tenant_id, name) values ($1, $2)', [
          clinic.id,
          tag,
        ]),
        sessionId:
          operation === END_USER_SESSION
            ? await furnishSession(service, clinic.id, userId)
            : jtiOf(clinic.people.doctor.token),
        refresh: clinic.people.doctor.refresh,
        // Creates a webhook only when the operation needs one, because that takes as long as all other records
        // together.
        ...(operation.includes('webhook') ? await freshWebhook(clinic) : foreignWebhook),
        ...(operation.includes('payment') ? await furnishPayment(service, clinic) : foreignPayment),
        ...(operation.includes('patient')
          ? await patientFor(service, clinic, operation)
          : foreignPatient),
        ...(/backup|jobs|downloads/.test(operation)
          ? await furnishBackup(service, clinic)
          : foreignBackup),
        ...foreignFix,
        spareTenantId: await insert('insert into tenants (name, subdomain) values ($1, $2)', [
          'Spare',
          tag,
        ]),
        deletedTenantId: await insert(
          'insert into tenants (name, subdomain, deleted_at) values ($1, $2, now())',
          ['Deleted', `${tag}-deleted`],
        ),
        sealedEntryId: /audit.(proof|log)/.test(operation)
          ? await sealedEntryOf(service, clinic.id)
          : sealedEntryId,
      }
    },
    foreignTarget: {
      tenantId: foreign.id,
      subdomain: foreign.subdomain,
      userId: foreign.people.nurse.id,
      doctorId: foreign.people.doctor.id,
      departmentId: foreign.departmentId,
      sessionId: jtiOf(foreign.people.doctor.token),
      refresh: foreign.people.doctor.refresh,
      ...foreignWebhook,
      ...foreignPayment,
      ...foreignPatient,
      ...foreignBackup,
      ...foreignFix,
      spareTenantId: foreign.id,
      deletedTenantId: foreign.id,
      sealedEntryId,
    },
    snapshot: () => snapshotOf(service, foreign.id),
  }
}

/** Returns the session id of an access token. */
export function jtiOf(token: string): string {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).jti
}

/** Creates rows of the clinic in every table, and hides it from the public list. */
async function furnish(service: Service, root: Person, clinic: Clinic): Promise<void> {
  const { admin, doctor } = clinic.people
  const put = (path: string, token: string, body: object) =>
    service.call('PUT', path, { token, body })
  await put(`/api/admin/tenants/${clinic.id}`, root.token, { settings: { listed: false } })
  await put('/api/preferences', doctor.token, { theme: 'dark', settings: { note: MARK } })
  await put(`/api/admin/departments/${clinic.departmentId}`, admin.token, {
    name: `Surgery of ${MARK}`,
    head_doctor_id: doctor.id,
  })
  await furnishAccount(service, clinic.people.auditor)
  await furnishMessenger(service, clinic.people.nurse)
  await furnishList(service, clinic.people.nurse)
}

/** Returns the tables whose rows belong to a tenant, except partitions. */
export async function tenantTables(service: Service): Promise<string[]> {
  const rows = await service.database.sql<{ name: string }>(
    `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
       and not c.relispartition and a.attname = 'tenant_id' and not a.attisdropped
     order by 1`,
  )
  return rows.map((row) => row.name)
}

async function snapshotOf(service: Service, tenantId: number): Promise<Record<string, string[]>> {
  const rowsOf = async (table: string, column: string) => {
    const rows = await service.database.sql<{ row: string }>(
      `select t::text as row from ${table} t where ${column} = $1 order by 1`,
      [tenantId],
    )
    return rows.map(({ row }) => row)
  }
  const shot: Record<string, string[]> = { tenants: await rowsOf('tenants', 'id') }
  // The service removes old rows of `list_writes` by and by. They say only when a list changed.
  for (const table of await tenantTables(service))
    if (table !== 'list_writes') shot[table] = await rowsOf(table, 'tenant_id')
  return shot
}
