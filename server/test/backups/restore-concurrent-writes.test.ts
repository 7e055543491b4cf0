/**
 * Restores everything in place while three nodes accept writes. One of the nodes gets no notifications. No acknowledged
 * change is lost, no request is served in maintenance mode, and provider notifications are kept.
 */
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import {
  type Clinic,
  makeClinic,
  PASSWORD,
  type Person,
  signIn,
  superadmin,
} from '../support/clinics.ts'
import { migratedDatabase, type TestDatabase } from '../support/database.ts'
import { proxyTo } from '../support/database-proxy.ts'
import { scratch } from '../support/scratch.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import {
  type Entry,
  keepLedger,
  keepNotices,
  type MaintenancePeriod,
  type Request,
  type Writer,
  watchMaintenance,
} from './ledger.ts'
import { contents, make } from './support.ts'

/** How long a node may still serve requests after maintenance mode has begun. */
const HEARD_WITHIN_MS = 1_000
const TABLES = ['users', 'patients', 'webhooks'] as const

interface Told {
  entries: Entry[]
  notices: Entry[]
  maintenance: MaintenancePeriod
  /** The final contents of the database and of the safety backup: values by table and ID. */
  live: Values
  safety: Values
}

type Values = ReadonlyMap<string, string>

const NODES = ['first', 'second', 'deaf'] as const
let database: TestDatabase
let nodes: Record<(typeof NODES)[number], Service>
let root: Person
let north: Clinic
let told: Told

beforeAll(async () => {
  database = await migratedDatabase()
  const BACKUP_DIR = await scratch()
  const first = await openService({
    background: ['backups', 'jobs', 'payments'],
    database,
    config: { BACKUP_DIR },
  })
  const second = await openService({
    background: ['backups', 'jobs', 'payments'],
    database,
    config: { BACKUP_DIR },
  })
  const proxy = await proxyTo(database)
  const far = { ...database, address: { url: proxy.url } }
  const deaf = await openService({
    database: far,
    config: { BACKUP_DIR },
  })
  nodes = { first, second, deaf }
  root = await superadmin(first)
  north = await makeClinic(first, root, 'north')
  const writers = (await Promise.all(NODES.map(writersOn))).flat()
  const backup_id = await make(first, root)
  proxy.deafen()
  await until(
    'the node to be deaf',
    () =>
      deaf.logged.some(([, , said]) => String(said).startsWith('change listener lost')) ||
      undefined,
  )

  const watching = await watchMaintenance(database.url)
  const ledger = keepLedger(writers)
  const notices = (['first', 'second'] as const).map((name) =>
    keepNotices(name, nodes[name], north.id),
  )
  const isWritten = (since: number) =>
    NODES.every((node) =>
      TABLES.every((table) =>
        ledger.entries.some(
          (one) => one.node === node && one.begun > since && one.row?.table === table,
        ),
      ),
    ) || undefined
  await until('all to write', () => isWritten(0))
  const answer = await second.call('POST', '/api/admin/backup/restore', {
    token: root.token,
    body: { backup_id, confirm: true },
  })
  expect(answer.status).toBe(200)
  const { result } = await until('the restore to end', async () => {
    const [job] = await database.sql<any>('select * from backup_jobs where id = $1', [
      answer.body.job_id,
    ])
    if (job.status === 'failed') throw new Error(job.error)
    return job.status === 'completed' ? job : undefined
  })
  await until('all to write again', () => isWritten(watching.seen.last))
  await Promise.all([ledger.stop(), ...notices.map((one) => one.stop())])
  const path = join(BACKUP_DIR, `${result.safety_backup_id}.tar.zst.age`)
  told = {
    entries: ledger.entries,
    notices: notices.flatMap(({ entries }) => entries),
    maintenance: await watching.stop(),
    live: await liveValues(),
    safety: await valuesIn(path),
  }
})

/** Returns the writers of a node, which create and change users, patients and webhooks, and one reader. */
async function writersOn(node: (typeof NODES)[number]): Promise<Writer[]> {
  const service = nodes[node]
  const { email, password, token } = north.people.admin
  const created = async (path: string, body: object) => {
    const answer = await service.call('POST', path, { token, body })
    expect(answer.status, JSON.stringify(answer.body)).toBe(201)
    return answer.body
  }
  const user = (turn: string) => ({
    email: `${node}-${turn}@north.test`,
    password: PASSWORD,
    full_name: `Made ${turn}`,
    role: 'nurse',
  })
  const patient = (turn: string) => ({ full_name: `Paula P${turn}` })
  const hook = (turn: string) => ({
    url: `http://127.0.0.1:9/${node}/${turn}`,
    events: ['tenant.restored'],
  })
  const kinds = [
    {
      path: '/api/admin/users',
      row: userRow,
      create: '',
      made: user,
      change: (turn: string) => ({ full_name: `Now ${turn}` }),
    },
    { path: '/api/patients', row: patientRow, create: '', made: patient, change: patient },
    {
      path: '/api/webhooks',
      row: webhookRow,
      create: '/register',
      made: hook,
      change: (turn: string) => ({ url: hook(turn).url }),
    },
  ]
  const signingIn = async () =>
    (await signIn(service, { email, password, subdomain: north.subdomain })).access_token
  const reading: Writer = {
    node,
    service,
    signIn: signingIn,
    next: () => ({ method: 'GET', path: '/api/users/me' }),
  }
  const writing = kinds.map(async ({ path, row, create, made, change }): Promise<Writer> => {
    const { id } = await created(path + create, made('before'))
    return {
      node,
      service,
      signIn: signingIn,
      next: (turn): Request =>
        // A clinic can have at most fifty webhooks.
        turn % 5 === 0 && turn < 50
          ? { method: 'POST', path: path + create, body: made(String(turn)), row }
          : { method: 'PUT', path: `${path}/${id}`, body: change(String(turn)), row },
    }
  })
  return [reading, ...(await Promise.all(writing))]
}

const userRow = ({ id, full_name }: any) => ({ table: 'users', id: String(id), value: full_name })
// Encrypted values cannot be compared, so the test compares the time of each change.
const patientRow = ({ id, updated_at }: any) => ({
  table: 'patients',
  id: String(id),
  value: String(Date.parse(updated_at)),
})
const webhookRow = ({ id, url }: any) => ({ table: 'webhooks', id: String(id), value: url })
const noticeRow = ({ event_key, type }: any) => ({
  table: 'payment_notifications',
  id: event_key,
  value: type,
})
const ROWS = {
  users: userRow,
  patients: patientRow,
  webhooks: webhookRow,
  payment_notifications: noticeRow,
}

const keyOf = ({ table, id }: NonNullable<Entry['row']>) => `${table} ${id}`

async function valuesOf(rowsOf: (table: string) => Promise<any[]> | any[]): Promise<Values> {
  const values = new Map<string, string>()
  for (const [table, rowOf] of Object.entries(ROWS))
    for (const row of await rowsOf(table)) {
      const { value, ...which } = rowOf(row)
      values.set(keyOf({ value, ...which }), value)
    }
  return values
}

const liveValues = () => valuesOf((table) => database.sql(`select * from ${table}`))

async function valuesIn(path: string): Promise<Values> {
  const { rowsOf } = await contents(path)
  return valuesOf(rowsOf)
}

const isTaken = ({ status }: Entry) => status < 300

/** Returns the acknowledged values of each row, oldest first. */
const acknowledged = (entries: readonly Entry[]) =>
  Map.groupBy(
    entries.filter((one) => isTaken(one) && one.row).toSorted((a, b) => a.ended - b.ended),
    ({ row }) => (row ? keyOf(row) : ''),
  )

test('each change acknowledged during a restore is in the database or in the safety backup', () => {
  const { entries, notices, maintenance, live, safety } = told
  const lost: string[] = []
  for (const [key, acks] of acknowledged([...entries, ...notices])) {
    const saidBy = (ack?: Entry) => ack?.row?.value
    const last = acks.at(-1)
    if (![live.get(key), safety.get(key)].includes(saidBy(last))) lost.push(`${key}: the last`)
    if (last && last.begun > maintenance.last && live.get(key) !== saidBy(last))
      lost.push(`${key}: since it is open again`)
    const before = acks.findLastIndex(({ ended }) => ended < maintenance.first)
    if (before >= 0 && !acks.slice(before).some((ack) => saidBy(ack) === safety.get(key)))
      lost.push(`${key}: before maintenance mode`)
  }
  expect(lost).toEqual([])
})

test('a restore undoes changes in every table, and the safety backup contains these changes', () => {
  const { live, safety } = told
  const takenBack = (table: string) =>
    [...safety.keys()].filter((key) => key.startsWith(table) && !live.has(key))
  for (const table of TABLES) expect(takenBack(table), table).not.toEqual([])
})

/**
 * Returns the requests that began after the time by which every node must refuse requests, and that ended before
 * maintenance mode did.
 */
const inMaintenance = (entries: readonly Entry[]) =>
  entries.filter(
    ({ begun, ended }) =>
      begun > told.maintenance.first + HEARD_WITHIN_MS && ended < told.maintenance.last,
  )

test.each(NODES)(
  'the %s node answers 503 to everyone during maintenance mode, and serves them afterwards',
  (name) => {
    const own = told.entries.filter(({ node }) => node === name)
    const during = inMaintenance(own)
    expect(during.filter(isTaken)).toEqual([])
    expect(during.filter(({ status }) => status === 503)).not.toEqual([])
    const refused = own.filter(({ status }) => status === 503)
    expect(refused.filter(({ retryAfter }) => !(retryAfter > 0))).toEqual([])
    expect(own.filter((one) => one.begun > told.maintenance.last && isTaken(one))).not.toEqual([])
    const others = own.filter((one) => !isTaken(one) && ![401, 503].includes(one.status))
    expect(others).toEqual([])
  },
)

test('the payment provider gets a 503 during a restore, and its notifications are applied later', async () => {
  const { notices, live, maintenance } = told
  expect(inMaintenance(notices).filter(isTaken)).toEqual([])
  for (const name of ['first', 'second']) {
    const refused = notices.filter(({ node, status }) => node === name && status === 503)
    expect(refused, name).not.toEqual([])
    expect(refused.filter(({ retryAfter }) => !(retryAfter > 0))).toEqual([])
  }
  const ids = new Set(notices.filter(isTaken).map(({ row }) => row?.id))
  expect(notices.filter((one) => isTaken(one) && one.ended < maintenance.first)).not.toEqual([])
  for (const id of ids) expect(live.has(`payment_notifications ${id}`), id).toBe(true)
  await until('all to be applied', async () => {
    const [row] = await database.sql<{ count: number }>(
      `select count(*)::int as count from payments where provider_payment_id like 'pay_%'`,
    )
    return row?.count === ids.size || undefined
  })
  expect(notices.filter((one) => !isTaken(one) && one.status !== 503)).toEqual([])
})
