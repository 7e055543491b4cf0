/**
 * Fuzzes every operation of the document as every kind of caller. Every response must be documented, and none may be a
 * 500. `FUZZ_SEED` repeats a run, and `FUZZ_RUNS` changes its size.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { furnishBackup } from '../isolation/furnish.ts'
import { fresh, jtiOf, newPerson } from '../sessions/users.ts'
import { forgive } from '../support/accounts.ts'
import {
  type Clinic,
  makeClinic,
  PASSWORD,
  type Person,
  signIn,
  superadmin,
} from '../support/clinics.ts'
import { cardnetNotice, cardnetSignature } from '../support/payments.ts'
import { sealedEntryOf } from '../support/sealing.ts'
import { openService, type Service } from '../support/service.ts'
import { type Described, faultOf, OPERATIONS } from './document.ts'
import { requests } from './requests.ts'
import type { Known } from './values.ts'

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_121)
const RUNS = Number(process.env.FUZZ_RUNS ?? 120)

let service: Service
let root: Person
let clinic: Clinic
/** The hash of PASSWORD. */
let knownHash: string
const seen = new Map<string, Set<number>>()

beforeAll(async () => {
  process.stdout.write(`fuzzing with FUZZ_SEED=${SEED} FUZZ_RUNS=${RUNS}\n`)
  // Runs no background work, so a replay is still running when it is cancelled.
  service = await openService()
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'north')
  const [row] = await service.database.sql<{ password_hash: string }>(
    'select password_hash from users where id = $1',
    [clinic.people.nurse.id],
  )
  knownHash = row?.password_hash ?? ''
})

/** The callers. Each function signs the caller in again if an earlier request has ended the session. */
const CALLERS: Record<string, () => Promise<string | undefined>> = {
  superadmin: async () => {
    root = await alive(root)
    return root.token
  },
  admin: async () => {
    clinic.people.admin = await alive(clinic.people.admin)
    return clinic.people.admin.token
  },
  doctor: async () => {
    clinic.people.doctor = await alive(clinic.people.doctor)
    return clinic.people.doctor.token
  },
  nobody: async () => undefined,
}

/** Returns the person. Restores the account if an earlier request has changed or deleted it. */
async function alive(person: Person): Promise<Person> {
  const me = await service.call('GET', '/api/users/me', { token: person.token })
  if (me.status === 200 && me.body.role === person.role) return person
  const { sql } = service.database
  await sql(
    `update tenants set is_active = true, deleted_at = null, settings = settings - 'require_totp'
     where id = $1`,
    [person.tenant_id],
  )
  const found = await sql(
    `update users set is_active = true, role = $2, password_hash = $3, email = $4
     where id = $1 returning id`,
    [person.id, person.role, knownHash, person.email],
  )
  const subdomain = person.role === 'superadmin' ? 'platform' : clinic.subdomain
  if (found.length === 0)
    return newPerson(service, await alive(root), {
      tenantId: person.tenant_id,
      subdomain,
      role: person.role,
    })
  const { email } = person
  const tokens = await signIn(service, { email, password: PASSWORD, subdomain })
  return { ...person, token: tokens.access_token, refresh: tokens.refresh_token }
}

/** Creates records for requests to find, because the previous test may have deleted its own. */
async function newRecords(role: string, operation: string): Promise<Known> {
  await forgive(service)
  root = await alive(root)
  const { token } = root
  const subdomain = fresh('fuzzed')
  const { body: tenant } = await service.call('POST', '/api/admin/tenants', {
    token,
    body: { name: 'Fuzzed', subdomain },
  })
  const own = clinic.people.admin.tenant_id
  const { body: department } = await service.call('POST', '/api/admin/departments', {
    token,
    body: { name: subdomain, tenant_id: own },
  })
  clinic.people.admin = await alive(clinic.people.admin)
  const victim = await newPerson(service, root, { tenantId: own, subdomain: clinic.subdomain })
  const caller = role === 'superadmin' ? root : clinic.people.admin
  const patient = await newPatient(operation === 'restorePatient')
  const backup = /Backup|Job|Download/.test(operation) ? await newBackup(caller) : {}
  return {
    ids: [1, 2, own, tenant.id, department.id, victim.id, patient],
    named: {
      ...(await newWebhook(caller)),
      ...(await newPayment()),
      patient_id: patient,
      ...backup,
      ...(operation === 'cancelJob' ? await newExport(caller) : {}),
      ...(operation.endsWith('Fix') ? await newFix() : {}),
      ...(operation === 'proveAuditEntry' ? { entry_id: await sealedEntryOf(service, own) } : {}),
      ...(operation === 'getAuditTile' ? await newTile(own) : {}),
      ...(operation === 'restoreTenant' ? await newDeletedTenant(tenant.id) : {}),
      ...(operation === 'endUserSession' ? { user_id: victim.id, jti: jtiOf(victim.token) } : {}),
    },
    words: [
      subdomain,
      'Surgery',
      victim.email,
      PASSWORD,
      'user.created',
      jtiOf(caller.token),
      ...Object.values(backup).map(String),
    ],
  }
}

/** Creates a patient that the clinic's administrator can see, or a deleted one to restore. */
async function newPatient(isDeleted: boolean): Promise<number> {
  const { token } = clinic.people.admin
  // A request may have deleted any department, so the patient has none.
  const body = { full_name: 'Paula Patient', department_id: null }
  const { id } = (await service.call('POST', '/api/patients', { token, body })).body
  if (isDeleted) await service.call('DELETE', `/api/patients/${id}`, { token })
  return id
}

/** Creates a backup of the caller's tenant and its finished job. Ends all jobs that earlier requests have started. */
async function newBackup({ tenant_id }: Person): Promise<Known['named']> {
  const clinic = { id: tenant_id } as Clinic
  const { backupId, jobId } = await furnishBackup(service, clinic)
  return { backup_id: backupId, job_id: jobId }
}

/** Seals an entry of the tenant, so that its log has a tile. */
async function newTile(tenant_id: number): Promise<Known['named']> {
  await sealedEntryOf(service, tenant_id)
  return { tenant_id, tile: '0/000.p/1' }
}

/** Deletes a tenant. */
async function newDeletedTenant(tenant_id: number): Promise<Known['named']> {
  await service.database.sql('update tenants set deleted_at = now() where id = $1', [tenant_id])
  return { tenant_id }
}

/** Creates a running job. */
async function newExport({ tenant_id }: Person): Promise<Known['named']> {
  const [job] = await service.database.sql<{ job_id: string }>(
    `insert into jobs (tenant_id, kind, actor) values ($1, 'export', '{}') returning id as job_id`,
    [tenant_id],
  )
  if (!job) throw new Error('the job was not inserted')
  return job
}

/** Creates a fix that awaits confirmation. Its finding has already disappeared. */
async function newFix(): Promise<Known['named']> {
  await service.call('POST', '/api/admin/self-healing/seed-fixes', { token: root.token })
  const [fix] = await service.database.sql<{ id: number }>(
    `update self_healing_fixes set status = 'proposed' where key = 'departments.head' returning id`,
  )
  if (!fix) throw new Error('there is no such fix')
  return { fix_id: fix.id }
}

/** Inserts a payment and a failed notification into the database, because no worker runs here. */
async function newPayment(): Promise<Known['named']> {
  const id = crypto.randomUUID()
  const payload = JSON.stringify(cardnetNotice('succeeded', { id, amount: 'much' }, { id }))
  const headers = { 'cardnet-signature': cardnetSignature(payload) }
  await service.call('POST', '/webhooks/cardnet', { payload, headers })
  const [made] = await service.database.sql<{ payment_id: number; notification_id: number }>(
    `with failed as (
       update payment_notifications
       set state = 'failed', reason = 'amount_unreadable', due_at = null, waiting_since = null,
         processed_at = now()
       where event_key = $1 returning id
     ), paid as (
       insert into payments (tenant_id, provider, provider_payment_id, status, amount, amount_refunded,
         currency, currency_exponent, said_at)
       values ($2, 'cardnet', $1, 'succeeded', 1000, 0, 'EUR', 2, 1) returning id
     )
     select paid.id as payment_id, failed.id as notification_id from paid, failed`,
    [id, clinic.id],
  )
  if (!made) throw new Error('the notification was not taken')
  return made
}

/** Replaces the webhooks of the caller's tenant with one that has an old secret, a delivery and a replay. */
async function newWebhook({ token, tenant_id }: Person): Promise<Known['named']> {
  await service.database.sql('delete from webhooks where tenant_id = $1', [tenant_id])
  const body = { url: 'http://127.0.0.1:9/', events: ['tenant.restored'] }
  const { id } = (await service.call('POST', '/api/webhooks/register', { token, body })).body
  const at = (method: string, path: string, sent?: object) =>
    service.call(method, `/api/webhooks/${id}${path}`, { token, body: sent })
  await at('PUT', '', { secret: 'another-secret-of-it' })
  await at('POST', '/test')
  const list = await at('GET', '/deliveries')
  const replay_id = await newReplay(id)
  return { webhook_id: id, delivery_id: list.body.items[0].id, replay_id }
}

/** Creates a replay that no job can complete too early: all of its messages are queued, and some are not due yet. */
async function newReplay(webhookId: number): Promise<number> {
  const [replay] = await service.database.sql<{ id: number }>(
    `with replay as (
       insert into webhook_replays (tenant_id, webhook_id, since, until, event_at, state, found, finished_at)
       select tenant_id, webhook_id, event_at, event_at, event_at, 'completed', 1, now()
       from webhook_deliveries where webhook_id = $1 returning id
     ), waiting as (
       insert into webhook_deliveries (tenant_id, webhook_id, entry_id, event_at, event, due_at, replay_id)
       select tenant_id, webhook_id, entry_id - 1, event_at, 'tenant.restored', '2099-01-01', replay.id
       from webhook_deliveries, replay where webhook_id = $1
     )
     select id from replay`,
    [webhookId],
  )
  return replay?.id ?? 0
}

async function ask(operation: Described, token: string | undefined, request: any): Promise<void> {
  const { path, query, body } = request
  const answer = await service.call(operation.method, query ? `${path}?${query}` : path, {
    ...(token ? { token } : {}),
    ...(body === undefined ? {} : { payload: body }),
  })
  const statuses = seen.get(operation.id) ?? new Set()
  seen.set(operation.id, statuses.add(answer.status))
  const said = `${operation.method} ${path}?${query} ${body} answered ${answer.status} ${JSON.stringify(answer.body)}`
  expect(answer.status, said).toBeLessThan(500)
  expect(faultOf(operation, answer), said).toBeUndefined()
  expect(answer.headers['x-request-id'], said).toBeTruthy()
}

describe.each(OPERATIONS.map((operation) => [operation.id, operation] as const))(
  'the operation %s',
  (_, operation) => {
    // Clinicians call only the operations that only clinicians may use. In other operations they can do no more than
    // other roles.
    const roles = Object.keys(CALLERS).filter(
      (role) => role !== 'doctor' || operation.id === 'breakGlass',
    )
    test.each(roles)('answers random requests of %s as documented', async (role) => {
      // An anonymous caller is rejected for the missing token, so fewer runs are enough.
      const isOpen = operation.responses[401] === undefined || operation.id === 'login'
      const numRuns = role === 'nobody' && !isOpen ? Math.ceil(RUNS / 8) : RUNS
      const known = await newRecords(role, operation.id)
      await fc.assert(
        fc.asyncProperty(requests(operation, known), async (request) => {
          await forgive(service)
          await ask(operation, await CALLERS[role]?.(), request)
        }),
        { seed: SEED, numRuns, interruptAfterTimeLimit: 8_000, endOnFailure: false },
      )
    })
  },
)

afterAll(() => {
  // Fails if every request to an operation was rejected, because such a run has tested nothing.
  const untried = [...seen].filter(([, statuses]) => Math.min(...statuses) >= 300)
  const needSecrets = [
    'login',
    'signInToConsole',
    'refreshTokens',
    'changeOwnPassword',
    // Needs a session of the console.
    'confirmConsoleSession',
    'verifyEmail',
    'resetPassword',
    'enableTotp',
    'disableTotp',
    'linkMessenger',
    // Needs a ticket.
    'download',
    // Needs a known time zone, and a period of limited length.
    'getStats',
    // Needs the file of a full backup.
    'drillBackup',
    'receiveMessengerUpdate',
    'receiveCardnetNotification',
    // The operation needs no secret, but only its provider documents the body.
    'receivePaygateNotification',
  ]
  expect(untried.map(([id]) => id).filter((id) => !needSecrets.includes(id))).toEqual([])
})
