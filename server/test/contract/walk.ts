/** Calls every operation once, successfully, in the order of the first day of an installation. */

import { botConfig } from '../messenger/scene.ts'
import { SOME_STATS } from '../stats/scene.ts'
import { codeOf, mailedToken } from '../support/accounts.ts'
import { type BotServer, openBotServer } from '../support/bot-server.ts'
import { makeClinic, signIn, superadmin } from '../support/clinics.ts'
import { sealedEntryOf } from '../support/sealing.ts'
import { type Answer, openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { nameOf } from './operations.ts'
import { walkPayments, walkWebhooks } from './walk-connections.ts'
import type { Scene, Step } from './walk-scene.ts'

/** A service on which every operation can succeed. Its bot server receives the chat messages. */
export interface Walkable {
  service: Service
  bot: BotServer
}

export async function openWalkable(
  options: Parameters<typeof openService>[0] = {},
): Promise<Walkable> {
  const bot = await openBotServer()
  const config = { ...botConfig(bot), MESSENGER_MODE: 'webhook' as const, ...options.config }
  return { service: await openService({ role: 'all', ...options, config }), bot }
}

/** Walks through a new clinic, and returns the answer of each operation. Error answers are recorded too. */
export async function walk({ service, bot }: Walkable, subdomain = 'walked'): Promise<Step[]> {
  const root = await superadmin(service)
  const clinic = await makeClinic(service, root, subdomain)
  const steps: Step[] = []
  const take: Scene['take'] = async (
    name,
    { path: values = {}, fill = {}, sign, ...options } = {},
  ) => {
    const [method = '', template = ''] = name.split(' ')
    const path = template.replaceAll(/\{(\w+)\}/g, (_, key) => String(values[key]))
    const example = service.app.operations.find((op) => nameOf(op) === name)?.example?.body
    const payload =
      example === undefined ? undefined : JSON.stringify({ ...(example as object), ...fill })
    const answer = await service.call(method, path, {
      ...options,
      ...(payload === undefined ? {} : { payload }),
      headers: { ...options.headers, ...(payload === undefined ? {} : sign?.(payload)) },
    })
    steps.push({ name, filled: Object.keys(fill), answer })
    return answer
  }
  const scene = { service, bot, root, clinic, take }
  await walkOpen(scene)
  await walkPlatform(scene)
  await walkClinic(scene)
  await walkPatients(scene)
  await walkWebhooks(scene)
  await walkPayments(scene)
  await walkBackups(scene)
  await walkSelfHealing(scene)
  await walkOwn(scene)
  await walkAccount(scene)
  return steps
}

async function walkBackups({ service, root: { token }, take }: Scene): Promise<void> {
  const made = await take('POST /api/admin/backup/create', { token })
  const { job_id, backup_id } = made.body
  const path = { job_id, backup_id }
  await until('the backup is made', async () => {
    const { body } = await service.call('GET', `/api/admin/backup/status/${job_id}`, { token })
    return body.status === 'completed' || undefined
  })
  await take('GET /api/admin/backup/status/{job_id}', { token, path })
  await take('GET /api/admin/backup/list', { token })
  await take('GET /api/admin/jobs', { token })
  await take('GET /api/admin/jobs/{job_id}', { token, path })
  const [export_] = await service.database.sql<{ job_id: string }>(
    "insert into jobs (kind, actor) values ('export', '{}') returning id as job_id",
  )
  await take('DELETE /api/admin/jobs/{job_id}', { token, path: { ...export_ } })
  await take('GET /api/admin/backup/download/{backup_id}', { token, path })
  const ticket = await take('POST /api/admin/downloads', { token, fill: { backup_id } })
  const [, link = ''] = String(ticket.body.url).split('/downloads/')
  await take('GET /api/admin/downloads/{ticket}', { path: { ticket: link } })
  await take('POST /api/admin/backup/restore', { token, fill: { backup_id } })
  await until('nothing is at work on it', async () => {
    const [busy] = await service.database.sql(
      "select from backup_jobs where status in ('queued', 'running')",
    )
    return busy === undefined || undefined
  })
  const tested = await take('POST /api/admin/backup/drill/{backup_id}', { token, path })
  await until('the test restore is over', async () => {
    const job = `/api/admin/jobs/${tested.body.job_id}`
    const { body } = await service.call('GET', job, { token })
    return !['queued', 'running'].includes(body.status) || undefined
  })
  await take('DELETE /api/admin/backup/{backup_id}', { token, path })
  await take('POST /api/admin/encryption/rotate', { token })
  // Waits, because only one rotation can run at a time and the next walk starts another one.
  await until('the rotation is over', async () => {
    const { body } = await service.call('GET', '/api/admin/encryption/status', { token })
    return body.status !== 'running' || undefined
  })
  await take('GET /api/admin/encryption/status', { token })
  await take('GET /api/admin/encryption/keys', { token })
}

async function walkSelfHealing({ service, root: { token }, clinic, take }: Scene): Promise<void> {
  const admin = clinic.people.admin.token
  const create = async (path: string, body: object) =>
    (await service.call('POST', path, { token: admin, body })).body.id
  const email = `head@${clinic.subdomain}.test`
  const password = 'a-Fine-Secret-3'
  const doctor = { email, password, full_name: 'Head', role: 'doctor' }
  const head_doctor_id = await create('/api/admin/users', doctor)
  await create('/api/admin/departments', { name: 'Headed', head_doctor_id })
  await service.call('POST', `/api/admin/users/${head_doctor_id}/block`, { token: admin })
  await service.app.features.selfHealing.scan()
  const { body } = await take('GET /api/admin/self-healing/fixes', { token })
  const fix = body.items.find(({ key }: { key: string }) => key === 'departments.head')
  const path = { fix_id: fix.id }
  await take('POST /api/admin/self-healing/confirm/{fix_id}', { token, path })
  await take('GET /api/admin/self-healing/stats', { token })
  await take('DELETE /api/admin/self-healing/fixes/{fix_id}', { token, path })
  await take('POST /api/admin/self-healing/seed-fixes', { token })
  await take('POST /api/admin/self-healing/scan', { token })
}

async function walkOpen({ clinic, take }: Scene): Promise<void> {
  await take('GET /healthz')
  await take('GET /readyz')
  await take('GET /openapi.json')
  await take('GET /.well-known/jwks.json')
  await take('GET /api/auth/capabilities')
  await take('GET /api/auth/tenants')
  await take('GET /api/auth/departments', { query: { subdomain: clinic.subdomain } })
}

async function walkPlatform({ root: { token }, clinic, take }: Scene): Promise<void> {
  const fill = { subdomain: `${clinic.subdomain}-briefly` }
  const tenant = await take('POST /api/admin/tenants', { token, fill })
  const path = { tenant_id: tenant.body.id }
  await take('GET /api/admin/tenants', { token })
  await take('GET /api/admin/tenants/{tenant_id}', { token, path })
  await take('PUT /api/admin/tenants/{tenant_id}', { token, path })
  await take('DELETE /api/admin/tenants/{tenant_id}', { token, path })
  await take('POST /api/admin/tenants/{tenant_id}/restore', { token, path })
  await take('GET /api/admin/health', { token })
}

async function walkClinic({ service, clinic, take }: Scene): Promise<void> {
  const { token } = clinic.people.admin
  const made = await take('POST /api/admin/departments', {
    token,
    fill: { head_doctor_id: clinic.people.doctor.id },
  })
  const department = { dept_id: made.body.id }
  await take('PUT /api/admin/departments/{dept_id}', { token, path: department })
  await take('GET /api/admin/departments', { token })
  await take('GET /api/admin/departments/{dept_id}', { token, path: department })
  const user = { email: `passing@${clinic.subdomain}.test`, department_id: made.body.id }
  const created = await take('POST /api/admin/users', { token, fill: user })
  const path = { user_id: created.body.id }
  await take('GET /api/admin/users', { token })
  await take('GET /api/admin/users/{user_id}', { token, path })
  await take('PUT /api/admin/users/{user_id}', { token, path })
  await take('POST /api/admin/users/{user_id}/invitation', { token, path })
  await take('POST /api/admin/users/{user_id}/block', { token, path })
  await take('POST /api/admin/users/{user_id}/unblock', { token, path })
  await take('PUT /api/admin/users/{user_id}/role', { token, path })
  await take('PUT /api/admin/users/{user_id}/password', { token, path })
  await take('DELETE /api/admin/users/{user_id}', { token, path })
  await take('DELETE /api/admin/departments/{dept_id}', { token, path: department })
  await take('GET /api/admin/audit', { token, query: { limit: 100 } })
  await take('GET /api/admin/audit/actions', { token })
  const entry = { entry_id: await sealedEntryOf(service, clinic.id) }
  await take('GET /api/admin/audit/heads', { token })
  await take('GET /api/admin/audit/proof/{entry_id}', { token, path: entry })
  await take('GET /api/admin/audit/verify', { token })
  await take('POST /api/admin/audit/verify', { token })
  const log = { tenant_id: clinic.id, tile: '0/000.p/1' }
  await take('GET /api/admin/audit/log/{tenant_id}/checkpoint', { token, path: log })
  await take('GET /api/admin/audit/log/{tenant_id}/tile/{tile}', { token, path: log })
  await take('GET /api/admin/audit/export', { token })
  await take('GET /api/admin/overview', { token })
  await take('GET /api/admin/stats', { token, query: SOME_STATS })
}

async function walkPatients({ clinic, take }: Scene): Promise<void> {
  const { admin, doctor } = clinic.people
  const { token } = admin
  const made = await take('POST /api/patients', { token })
  const path = { patient_id: made.body.id }
  await take('GET /api/patients', { token })
  await take('POST /api/patients/search', { token })
  await take('GET /api/patients/{patient_id}', { token, path })
  await take('POST /api/patients/break-glass', { token: doctor.token, fill: path })
  const fill = { department_id: clinic.departmentId }
  await take('PUT /api/patients/{patient_id}', { token, path, fill })
  await take('GET /api/patients/{patient_id}/accesses', { token, path })
  await take('GET /api/patients/{patient_id}/export', { token, path })
  const ids = { patient_ids: [made.body.id, made.body.id, 999_999] }
  await take('POST /api/admin/cache/warmup', { token, fill: ids })
  await take('GET /api/admin/cache/stats', { token })
  await take('POST /api/admin/cache/invalidate', { token, fill: path })
  await take('POST /api/admin/cache/cleanup', { token })
  await take('DELETE /api/patients/{patient_id}', { token, path })
  await take('POST /api/patients/{patient_id}/restore', { token, path })
}

/** Signs in to the console twice, because the second sign-in ends the first session. */
async function walkConsole(
  { service, take }: Pick<Scene, 'service' | 'take'>,
  credentials: { email: string; password: string; subdomain: string },
): Promise<void> {
  const cookieOf = ({ headers }: Answer) => String(headers['set-cookie']).split(';')[0] ?? ''
  const first = await service.call('POST', '/api/console/session', { body: credentials })
  const headers = { cookie: cookieOf(first) }
  const second = await take('POST /api/console/session', { headers, fill: credentials })
  const own = { headers: { cookie: cookieOf(second) } }
  await take('POST /api/console/session/refresh', own)
  const { password } = credentials
  const { access_token: token } = second.body
  await take('POST /api/console/session/confirm', { token, fill: { password } })
  await take('DELETE /api/console/session', own)
  await take('GET /api/console/welcome')
}

async function walkOwn({ bot, clinic, service, take }: Scene): Promise<void> {
  const { doctor, nurse } = clinic.people
  const { email, password } = doctor
  await take('GET /api/auth/me', { token: doctor.token })
  await take('GET /api/users/me', { token: doctor.token })
  await take('PUT /api/preferences', { token: doctor.token })
  await take('PUT /api/preferences/theme', { token: doctor.token })
  await take('GET /api/preferences', { token: doctor.token })
  await take('GET /api/messenger/status', { token: doctor.token })
  await take('POST /webhooks/messenger', {
    headers: { 'x-telegram-bot-api-secret-token': await hookSecret(bot) },
    fill: startIn(doctor.id),
  })
  await take('POST /api/messenger/link', {
    token: doctor.token,
    fill: { code: await shownCode(bot, doctor.id) },
  })
  await take('POST /api/messenger/subscribe', { token: doctor.token })
  await take('DELETE /api/messenger/link', { token: doctor.token })
  const login = await take('POST /api/auth/login', {
    fill: { email, password, subdomain: clinic.subdomain },
  })
  await walkConsole({ service, take }, { email, password, subdomain: clinic.subdomain })
  const { refresh_token } = login.body
  await take('POST /api/auth/refresh', { fill: { refresh_token } })
  const sessions = await take('GET /api/auth/sessions', { token: doctor.token })
  const other = sessions.body.find((session: { current: boolean }) => !session.current)
  await take('DELETE /api/auth/sessions/{jti}', { token: doctor.token, path: { jti: other.jti } })
  await take('POST /api/auth/logout', { token: doctor.token })
  await walkSessions({ service, clinic, take })
  const fill = { current_password: nurse.password }
  await take('PUT /api/users/me/password', { token: nurse.token, fill })
}

/** Ends sessions of a user, each with another operation of the administrator. */
async function walkSessions({ service, clinic, take }: Pick<Scene, 'service' | 'clinic' | 'take'>) {
  const { id, email, password } = clinic.people.doctor
  for (let device = 0; device < 3; device += 1)
    await signIn(service, { email, password, subdomain: clinic.subdomain })
  const by = { token: clinic.people.admin.token, path: { user_id: id } }
  const { body } = await take('GET /api/admin/users/{user_id}/sessions', by)
  const path = { ...by.path, jti: body[0].jti }
  await take('DELETE /api/admin/users/{user_id}/sessions/{jti}', { ...by, path })
  await take('DELETE /api/admin/users/{user_id}/sessions', by)
}

async function walkAccount({ service, clinic, take }: Scene): Promise<void> {
  const { subdomain } = clinic
  const email = `newcomer@${subdomain}.test`
  const whom = { email, subdomain }
  const { body: made } = await take('POST /api/auth/register', { fill: whom })
  const admin = { token: clinic.people.admin.token }
  await service.call('POST', `/api/admin/users/${made.id}/unblock`, admin)
  await mailedToken(service, email, 'verify-email')
  await take('POST /api/auth/resend-verification', { fill: whom })
  const verification = await mailedToken(service, email, 'verify-email', 1)
  await take('POST /api/auth/verify-email', { query: { token: verification } })
  await take('POST /api/auth/request-reset', { fill: whom })
  const password = 'second-Secret-7'
  const reset = { token: await mailedToken(service, email, 'reset-password') }
  await take('POST /api/auth/reset-password', { fill: { ...reset, new_password: password } })

  const enrol = async (call: Scene['take']) => {
    const { access_token: token } = await signIn(service, { ...whom, password })
    const setUp = await call('POST /api/auth/totp/setup', { token, fill: { password } })
    const fill = { code: codeOf(service, setUp.body.secret) }
    await call('POST /api/auth/totp/enable', { token, fill })
    return token
  }
  const token = await enrol(take)
  await take('POST /api/auth/totp/disable', { token, fill: { password } })
  await enrol((name, { fill, ...options } = {}) =>
    service.call('POST', name.slice('POST '.length), { ...options, body: fill }),
  )
  await take('DELETE /api/admin/users/{user_id}/totp', { ...admin, path: { user_id: made.id } })
}

/** Waits until the bot API has the webhook. Returns its secret. */
const hookSecret = (bot: BotServer) =>
  until('the bot has its webhook', () => bot.webhook()?.secret_token)

/** Returns the update of a person who writes to the bot in this chat. */
const startIn = (chat: number) => ({
  update_id: chat,
  message: {
    text: '/start',
    chat: { id: chat, type: 'private' },
    from: { id: chat, is_bot: false, first_name: 'Dora', username: 'dora_d' },
  },
})

const shownCode = (bot: BotServer, chat: number) =>
  until('the chat is given a code', () => /code: (\S+)/.exec(bot.textsTo(chat).join('\n'))?.[1])
