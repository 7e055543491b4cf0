/** Creates rows in every table for clinics and people. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openChats } from '../../src/features/messenger/linking/chats.ts'
import { insertLink } from '../../src/features/messenger/linking/links.store.ts'
import { keysFrom, openKeyRing, openSealer } from '../../src/platform/crypto/index.ts'
import { unheard } from '../sessions/scopes.ts'
import { codeOf } from '../support/accounts.ts'
import type { Clinic, Person } from '../support/clinics.ts'
import { cardnetNotice, cardnetSignature } from '../support/payments.ts'
import { signInAs } from '../support/people.ts'
import { ROOT_KEY, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

/** Text in every field of the clinic that must stay unchanged. No other row contains this text. */
export const MARK = 'zanzibar'

/** Records that a user has seen a list of two patients. */
export async function furnishList(service: Service, { tenant_id, id }: Person): Promise<void> {
  await service.database.sql(
    `with entry as (
       insert into journal (tenant_id, user_id, action, resource_type, is_access)
       values ($1, $2, 'patient.listed', 'patient', true) returning *)
     insert into journal_resources (tenant_id, resource_type, resource_id, created_at, entry_id)
     select tenant_id, resource_type, unnest(array[1, 2]), created_at, id from entry`,
    [tenant_id, id],
  )
}

/** Creates a second factor, which uses a data key of the tenant, and a mailed link for a person. */
export async function furnishAccount(
  service: Service,
  { id, token, password }: Person,
): Promise<void> {
  const enrol = (step: string, body?: object) =>
    service.call('POST', `/api/auth/totp/${step}`, { token, body })
  const offered = await enrol('setup', { password })
  const enabled = await enrol('enable', { code: codeOf(service, offered.body.secret) })
  if (enabled.status !== 200) throw new Error(`enrolling answered ${enabled.status}`)
  await service.database.sql(
    `insert into account_tokens (tenant_id, user_id, purpose, token_hash, email, expires_at)
     select tenant_id, id, 'reset_password', decode(md5(email), 'hex'), email, now() + interval '1 hour'
     from users where id = $1`,
    [id],
  )
}

/** Creates a chat, a subscription and a pending notification for a person. */
export async function furnishMessenger(service: Service, person: Person): Promise<void> {
  const { sql } = service.database
  const keys = [person.tenant_id, person.id]
  const { db } = service.app
  const sealer = openSealer(ROOT_KEY)
  const chats = openChats({
    deriveKey: keysFrom(ROOT_KEY),
    sealer,
    keyRing: await openKeyRing(db, sealer, unheard),
  })
  const chat = { id: person.id, username: null, name: 'A chat' }
  const user = { tenant_id: person.tenant_id, user_id: person.id }
  await db.acrossTenants(async (tx) => {
    const sealed_chat = await chats.sealFor(tx, user, chat)
    await insertLink(tx, { ...user, chat_hash: chats.hashOf(chat.id), sealed_chat })
  })
  await sql(
    `insert into messenger_notices (tenant_id, link_id, entry_id, event_at, action, is_own, queued_at)
     select tenant_id, id, 1, now(), 'user.created', false, now() from messenger_links
     where tenant_id = $1 and user_id = $2`,
    keys,
  )
  await sql(
    'insert into messenger_subscriptions (tenant_id, user_id, events) values ($1, $2, $3)',
    [...keys, ['*']],
  )
}

/** Creates a webhook for a clinic, with rows in each of its tables. It never receives an event. */
export async function furnishWebhook(
  service: Service,
  { id: tenantId, subdomain, people }: Clinic,
): Promise<{ webhookId: number; deliveryId: number; replayId: number }> {
  const { email, password } = people.admin
  const { token } = await signInAs(service, { email, password, subdomain })
  const { body } = await service.call('POST', '/api/webhooks/register', {
    token,
    body: { url: `http://127.0.0.1:9/${subdomain}`, events: ['webhook.test'] },
  })
  // Rotates the webhook's secret, so that the previous secret still signs too.
  await service.call('PUT', `/api/webhooks/${body.id}`, {
    token,
    body: { secret: `another secret of ${subdomain}` },
  })
  const [made] = await service.database.sql<{ id: number; replay: number }>(
    `with delivery as (
       insert into webhook_deliveries
         (tenant_id, webhook_id, entry_id, event_at, event, status, attempts, finished_at)
       select tenant_id, $2::bigint, max(id), max(created_at), action, 'failed', 1, now()
       from journal where tenant_id = $1 and action = 'user.created' group by 1, 5
       returning *
     ), attempt as (
       insert into webhook_attempts
         (tenant_id, webhook_id, entry_id, event_at, number, started_at, duration_ms)
       select tenant_id, webhook_id, entry_id, event_at, 1, now(), 1 from delivery
     ), replay as (
       insert into webhook_replays
         (tenant_id, webhook_id, event_at, since, until, state, finished_at)
       select tenant_id, webhook_id, event_at, event_at - interval '1 day', event_at, 'completed',
         now() from delivery
       returning id
     ), waiting as (
       insert into webhook_deliveries
         (tenant_id, webhook_id, entry_id, event_at, event, due_at, replay_id)
       select d.tenant_id, d.webhook_id, d.entry_id - 1, d.event_at, d.event, now(), r.id
       from delivery d, replay r
     )
     select d.entry_id as id, r.id as replay from delivery d, replay r`,
    [tenantId, body.id],
  )
  return { webhookId: body.id, deliveryId: made?.id ?? 0, replayId: made?.replay ?? 0 }
}

/** Creates a payment for a clinic, and a failed notification about another payment. */
export async function furnishPayment(
  service: Service,
  { id: tenantId, subdomain }: Clinic,
): Promise<{ paymentId: number; notificationId: number }> {
  const name = `${subdomain}-${crypto.randomUUID()}`
  const send = async (id: string, amount: unknown) => {
    const payload = JSON.stringify(
      cardnetNotice('succeeded', { id, amount, metadata: { tenant_id: tenantId } }, { id }),
    )
    const headers = { 'cardnet-signature': cardnetSignature(payload) }
    await service.call('POST', '/webhooks/cardnet', { payload, headers })
  }
  await send(name, 1000)
  await send(`${name}-unreadable`, 'much')
  return until('the notifications are worked off', async () => {
    const [row] = await service.database.sql<{ paymentId: number; notificationId: number }>(
      `select p.id as "paymentId", n.id as "notificationId"
       from payments p join payment_notifications n on n.event_key = p.provider_payment_id || '-unreadable'
       where p.provider_payment_id = $1 and n.state = 'failed'`,
      [name],
    )
    return row
  })
}

/** Calls as a person of the clinic with a new session. @throws Error when the call is refused */
async function callAs(
  service: Service,
  { subdomain }: Clinic,
  { email, password }: Person,
  [method, path, body]: [method: string, path: string, body?: object],
) {
  const { token } = await signInAs(service, { email, password, subdomain })
  const answer = await service.call(method, path, { token, body })
  if (answer.status >= 300) throw new Error(`${path} answered ${answer.status}`)
  return answer.body
}

/** Creates a patient in the clinic's department. */
async function newPatient(service: Service, clinic: Clinic): Promise<{ patientId: number }> {
  const body = {
    full_name: `Paula of ${clinic.subdomain}`,
    department_id: clinic.departmentId,
    identifiers: [{ system: 'insurer', value: crypto.randomUUID() }],
  }
  const call = ['POST', '/api/patients', body] as [string, string, object]
  return { patientId: (await callAs(service, clinic, clinic.people.admin, call)).id }
}

/** Creates a patient for a clinic, with a record that a doctor has opened by break-glass. */
export async function furnishPatient(
  service: Service,
  clinic: Clinic,
): Promise<{ patientId: number }> {
  const { patientId } = await newPatient(service, clinic)
  const reason = `a reason of ${clinic.subdomain}`
  const body = { patient_id: patientId, purpose: 'emergency', reason }
  const { doctor } = clinic.people
  await callAs(service, clinic, doctor, ['POST', '/api/patients/break-glass', body])
  await service.database.sql(
    `insert into patient_cache_faults (node, tenant_id, patient_id, differs, held_version, entries)
     values ('a node', $1, $2, '{version}', 1, 1)`,
    [clinic.id, patientId],
  )
  await service.database.sql(
    'insert into purged_patients (id, tenant_id) values (-$1::bigint, $1) on conflict do nothing',
    [clinic.id],
  )
  return { patientId }
}

/** Creates a patient for a single call of the operation. */
export async function patientFor(service: Service, clinic: Clinic, operation: string) {
  const { patientId } = await newPatient(service, clinic)
  if (operation.endsWith('/restore'))
    await callAs(service, clinic, clinic.people.admin, ['DELETE', `/api/patients/${patientId}`])
  return { patientId }
}

/** Creates a self-healing finding for a clinic. Self-healing has fixed the same finding automatically before. */
export async function furnishFix(
  { database }: Service,
  { id, subdomain }: Clinic,
): Promise<{ fixId: number }> {
  const [fix] = await database.sql<{ id: number }>(
    `with found as (
       insert into self_healing_findings
         (fix_id, tenant_id, subject, measured, expected, first_seen, last_seen, round)
       select id, $1::bigint, $2::text, '{}', '{}', now(), now(), 0
       from self_healing_fixes where key = 'departments.head'
       on conflict do nothing)
     insert into self_healing_repairs (fix_id, tenant_id, subject, at)
     select id, $1::bigint, $2::text, now() from self_healing_fixes
     where key = 'departments.head' returning fix_id as id`,
    [id, `department of ${subdomain}`],
  )
  return { fixId: fix?.id ?? 0 }
}

/** Creates the verification of a clinic's audit log, with a finding, and the end of a retention long ago. */
export async function furnishVerification({ database }: Service, { id }: Clinic): Promise<void> {
  await database.sql(
    `with verification as (
       insert into audit_verifications (tenant_id, epoch) values ($1, 1) on conflict do nothing),
     pruning as (
       insert into journal_prunings (tenant_id, until) values ($1, '2020-01-01') on conflict do nothing)
     insert into audit_findings (tenant_id, epoch, kind, detail, gone_at)
     values ($1, 1, 'changed', 'furnished', now()) on conflict do nothing`,
    [id],
  )
}

/** Creates a backup of a clinic, with its file, an export that has ended, and a count. */
export async function furnishBackup(
  { database, dataDir }: Service,
  { id }: Clinic,
): Promise<{ backupId: string; jobId: string }> {
  // Ends the previous job, because a clinic can have only one backup job at a time.
  await database.sql(
    "update backup_jobs set status = 'failed' where tenant_id = $1 and status in ('queued', 'running')",
    [id],
  )
  const [backupId, jobId] = [crypto.randomUUID(), crypto.randomUUID()]
  await mkdir(join(dataDir, 'backups'), { recursive: true })
  await writeFile(join(dataDir, 'backups', `${backupId}.tar.zst.age`), 'sealed')
  await database.sql(
    `with made as (
       insert into backups
         (id, tenant_id, type, reason, status, size_bytes, sha256, records, schema_version)
       values ($1, $3, 'tenant', 'request', 'completed', 6, 'none', 1, 1) returning *)
     insert into backup_jobs
       (id, backup_id, tenant_id, kind, status, progress, actor, started_at, finished_at)
     select $2, id, tenant_id, 'create', 'completed', 1, '{}', now(), now() from made`,
    [backupId, jobId, id],
  )
  await database.sql(
    `insert into stats (tenant_id, series, slot, count)
     values ($1, 'sign_ins', date_bin('15 minutes', now(), 'epoch'), 1)
     on conflict (tenant_id, series, slot, step) do update set count = stats.count + 1`,
    [id],
  )
  await database.sql(
    `insert into jobs (tenant_id, kind, status, actor, finished_at)
     values ($1, 'export', 'completed', '{}', now())`,
    [id],
  )
  return { backupId, jobId }
}

/** Creates a download ticket in a session of the person. */
export async function furnishTicket(
  { database }: Service,
  { id }: Person,
  backupId: string,
): Promise<void> {
  await database.sql(
    `insert into download_tickets
       (token_hash, tenant_id, user_id, session_id, ip, backup_id, expires_at)
     select decode(md5(id::text), 'hex'), tenant_id, user_id, id, '127.0.0.1', $2,
       now() + interval '1 hour'
     from sessions where user_id = $1 limit 1`,
    [id, backupId],
  )
}

/** Starts a session of the user in the database. Returns its id. */
export async function furnishSession(service: Service, tenantId: number, userId: number) {
  const [row] = await service.database.sql<{ id: string }>(
    `insert into sessions (id, tenant_id, user_id, created_at, last_used_at, idle_seconds, expires_at, absolute_expires_at)
     values (gen_random_uuid(), $1, $2, now(), now(), 86400, now() + '1 day', now() + '1 day') returning id`,
    [tenantId, userId],
  )
  return row?.id as string
}
