/** A service on PostgreSQL 15 with clinics of 1,000 users, and the measured operations on its backups. */
import { randomUUID } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { type Cluster, timed } from '../cluster.ts'
import { seed } from '../seed/seed.ts'
import { emailOf, PASSWORD, subdomainOf } from '../seed/sizes.ts'
import { MAIN, type Service, type Settings, signIn, startService } from '../service.ts'
import { call, superadminOf } from './ward.ts'

/** The users and entries of a clinic. */
const CLINIC = { usersPerTenant: 1000, entriesPerTenant: 5000 }
/** The interval of polls for the end of a job. */
const LOOK_EVERY_MS = 20
/** The interval of requests during a restore. */
const ASK_EVERY_MS = 20

type Headers = Record<string, string>

/** A service that is backed up, with its database. */
export interface BackedUp {
  service: Service
  database: pg.ClientConfig
  root: Headers
  /** The service's data folder, with its root key and its backups. */
  folder: string
  /** The URL with which the service connects to the database. */
  url: string
  /** Runs SQL as a superuser. */
  sql(text: string, values?: unknown[]): Promise<pg.QueryResult>
  stop(): Promise<void>
}

/** Fills a database of the cluster, and starts the service on it. */
export async function openBackedUp(
  cluster: Cluster,
  { name, folder, clinics }: { name: string; folder: string; clinics: number },
  say: (what: string) => void,
): Promise<BackedUp> {
  const url = await cluster.create(name)
  const settings: Settings = { DATABASE_URL: url, BACKUP_KEEP: '1' }
  const database = cluster.superuserOf(name)
  await (await startService(folder, settings)).stop()
  await seed(database, { tenants: clinics, ...CLINIC }, (what) => say(`backups: ${name}: ${what}`))
  const service = await startService(folder, settings)
  const client = new pg.Client(database)
  await client.connect()
  return {
    service,
    database,
    folder,
    url,
    root: await superadminOf(service),
    sql: (text, values) => client.query(text, values),
    async stop() {
      await client.end()
      await service.stop()
    },
  }
}

/** Makes a full backup, and waits until it is completed. Returns its id. */
export async function backUp({ service, root, sql }: BackedUp): Promise<string> {
  const asked = await call(service, root, 'POST', '/api/admin/backup/create', { type: 'full' })
  await over(sql, asked.job_id)
  return asked.backup_id
}

/** Waits for the end of a job by polling with SQL, because a restore ends the callers' sessions. */
async function over(sql: BackedUp['sql'], job: string): Promise<void> {
  for (;;) {
    const { rows } = await sql('select status, error from backup_jobs where id = $1', [job])
    if (rows[0].status === 'completed') return
    if (rows[0].status === 'failed') throw new Error(`the job has failed: ${rows[0].error}`)
    await delay(LOOK_EVERY_MS)
  }
}

/** The result of a restore in place. */
export interface Restored {
  /** The seconds from the request to the end of the job. */
  seconds: number
  /** The seconds during which a user of the clinic got 503. */
  closedSeconds: number
}

/**
 * Restores a backup in place while a user of a clinic keeps sending requests.
 * @param clinic the clinic to restore; if absent, all data are restored
 */
export async function restoreInPlace(
  of: BackedUp,
  backup_id: string,
  clinic?: { number: number; id: number },
): Promise<Restored> {
  const { service, sql } = of
  const person = await auditorOf(service, clinic?.number ?? 0)
  const root = await superadminOf(service)
  const asking = askMeanwhile(service, person)
  const begun = performance.now()
  const { job_id } = await call(service, root, 'POST', '/api/admin/backup/restore', {
    backup_id,
    confirm: true,
    ...(clinic ? { type: 'tenant', tenant_id: clinic.id } : {}),
  })
  await over(sql, job_id)
  const seconds = (performance.now() - begun) / 1000
  await asking.stop()
  const open = await untilOpen(service, clinic?.number ?? 0)
  of.root = await superadminOf(service)
  return { seconds, closedSeconds: (open - (asking.first503() ?? open)) / 1000 }
}

/** Sends small requests continuously, and reports when the first one got 503. */
function askMeanwhile({ url }: Service, headers: Headers) {
  let isOver = false
  let first: number | undefined
  const asking = (async () => {
    for (; !isOver && first === undefined; await delay(ASK_EVERY_MS)) {
      const at = performance.now()
      const response = await fetch(`${url}/api/users/me`, { headers })
      await response.arrayBuffer()
      if (response.status === 503) first = at
    }
  })()
  return {
    first503: () => first,
    stop(): Promise<void> {
      isOver = true
      return asking
    },
  }
}

/** Waits until a user of the clinic can sign in again, and returns that time. */
async function untilOpen(service: Service, clinic: number): Promise<number> {
  for (;;) {
    const at = performance.now()
    try {
      await auditorOf(service, clinic)
      return at
    } catch (error) {
      if (!String(error).includes('"restoring"')) throw error
    }
  }
}

/** Signs in one of the auditors of a clinic. */
export async function auditorOf({ url }: Service, clinic: number, place = 1): Promise<Headers> {
  const { access_token } = await signIn(url, emailOf(clinic, place), PASSWORD, subdomainOf(clinic))
  return { authorization: `Bearer ${access_token}` }
}

/** Returns the file of a backup. */
export const fileOf = ({ folder }: BackedUp, id: string): string =>
  join(folder, 'backups', `${id}.tar.zst.age`)

/** Returns how many seconds `wardkeep backup restore FILE` into a new database takes. Drops the database afterwards. */
export async function restoreIntoEmpty(
  of: BackedUp,
  cluster: Cluster,
  file: string,
): Promise<number> {
  const name = `empty_${randomUUID().replaceAll('-', '')}`
  const folder = `${of.folder}-${name}`
  await mkdir(folder)
  try {
    return await timed(process.execPath, [MAIN, 'backup', 'restore', file], {
      DATABASE_URL: await cluster.create(name),
      DATA_DIR: folder,
      ENCRYPTION_KEY_FILE: join(of.folder, 'root.key'),
    })
  } finally {
    await cluster.drop(name)
    await rm(folder, { recursive: true, force: true })
  }
}

/** Returns how many seconds the drill of a backup takes, as reported in the list of backups. */
export async function drill({ folder, url, sql }: BackedUp, id: string): Promise<number> {
  await timed(process.execPath, [MAIN, 'backup', 'verify', id, '--drill'], {
    DATABASE_URL: url,
    DATA_DIR: folder,
  })
  const { rows } = await sql('select drill_seconds from backups where id = $1', [id])
  return Number(rows[0].drill_seconds)
}
