/** A signal stops the service. The service finishes running requests, accepts no new ones, and ends in time. */
import { connect, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { emptyDatabase } from '../support/database.ts'
import { proxyTo } from '../support/database-proxy.ts'
import { query } from '../support/embedded.ts'
import {
  ADMIN,
  command,
  type Ended,
  PLAIN,
  type RunningService,
  startService,
  tokenOf,
} from '../support/process.ts'
import { nobodyLeft } from '../support/processes.ts'
import { scratch } from '../support/scratch.ts'
import { openSmtp } from '../support/smtp.ts'
import { until } from '../support/until.ts'

/** The ten seconds allowed for shutdown (decisions §12), plus a margin for a busy machine. */
const IN_TIME = 15_000

const endsInTime = async (service: RunningService): Promise<Ended> => {
  let ended: Ended | undefined
  void service.ended.then((how) => {
    ended = how
  })
  return until('the service has ended', () => ended, IN_TIME)
}

/** Starts a request by sending its head and half of its body. */
async function begunRequest(service: RunningService, token: string, name: string) {
  const { hostname, port } = new URL(service.address)
  const body = JSON.stringify({ name })
  const socket: Socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  let received = ''
  let isClosed = false
  socket.setEncoding('utf8').on('data', (text: string) => {
    received += text
  })
  socket
    .on('error', () => undefined)
    .on('close', () => {
      isClosed = true
    })
  socket.write(
    `POST /api/admin/departments HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
  )
  // A 100 Continue shows that the service has read the head.
  await until('the request has begun', () => received.includes('100 Continue') || undefined)
  socket.write(body.slice(0, 4))
  return {
    async finish(): Promise<string> {
      socket.write(body.slice(4))
      await until('the request is answered', () => isClosed || undefined)
      return received.slice(received.indexOf('\r\n\r\n') + 4)
    },
  }
}

const refusesConnections = (service: RunningService) =>
  until('connections are refused', async () => {
    const { hostname, port } = new URL(service.address)
    const socket = connect(Number(port), hostname)
    return new Promise<true | undefined>((resolve) => {
      socket.once('connect', () => resolve(undefined)).once('error', () => resolve(true))
    }).finally(() => socket.destroy())
  })

describe.each(['SIGTERM', 'SIGINT'] as const)('shutdown on %s', (signal) => {
  test('finishes the running request, accepts no new one, and exits cleanly', async () => {
    const dataDir = await scratch()
    const env = { ...PLAIN, DATA_DIR: dataDir, LOG_LEVEL: 'info' }
    const service = await startService(env)
    const request = await begunRequest(service, await tokenOf(service), 'Last ward')
    service.signal(signal)
    await refusesConnections(service)
    const answer = await request.finish()
    expect(answer).toMatch(/^HTTP\/1\.1 201 /)
    expect(answer).toContain('"name":"Last ward"')
    expect(await endsInTime(service)).toEqual({ code: 0, signal: null })
    expect(service.stderr()).toBe('')
    // The last log lines must not be lost.
    expect(service.stdout()).toContain('"msg":"stopped"')
    await nobodyLeft(dataDir)
    const again = await startService(env)
    const socket = { host: `${dataDir}/run`, port: 5432, user: 'wardkeep_owner' }
    expect(
      await query({ ...socket, database: 'wardkeep' }, 'select name from departments'),
    ).toEqual([{ name: 'Last ward' }])
    await again.stop()
  })
})

test('a request that never ends does not delay shutdown beyond its time limit', async () => {
  const dataDir = await scratch()
  const service = await startService({ ...PLAIN, DATA_DIR: dataDir, LOG_LEVEL: 'error' })
  await begunRequest(service, await tokenOf(service), 'Never')
  service.signal('SIGTERM')
  expect(await endsInTime(service)).toMatchObject({ signal: null })
  await nobodyLeft(dataDir)
})

test('a slow request does not prevent a shutdown from returning jobs to the queue', async () => {
  const database = await emptyDatabase()
  const smtp = await openSmtp({ fates: ['stall at the end'] })
  const service = await startService({
    ...PLAIN,
    DATA_DIR: await scratch(),
    DATABASE_URL: (await proxyTo(database)).url,
    SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
    LOG_LEVEL: 'error',
  })
  await begunRequest(service, await tokenOf(service), 'Never')
  const whom = { email: ADMIN.email, subdomain: 'platform' }
  await service.call('POST', '/api/auth/request-reset', { body: whom })
  const mailIs = (state: string) =>
    until(`the mail is ${state}`, async () => {
      const [mail] = await database.sql(
        `select state::text from pgboss.job_common where name = 'mail.send'`,
      )
      return mail?.state === state || undefined
    })
  await mailIs('active')
  service.signal('SIGTERM')
  await mailIs('retry')
  await endsInTime(service)
})

test('a second signal during shutdown has no effect', async () => {
  const dataDir = await scratch()
  const service = await startService({ ...PLAIN, DATA_DIR: dataDir, LOG_LEVEL: 'error' })
  const request = await begunRequest(service, await tokenOf(service), 'Last ward')
  service.signal('SIGTERM')
  await refusesConnections(service)
  service.signal('SIGTERM')
  service.signal('SIGINT')
  expect(await request.finish()).toMatch(/^HTTP\/1\.1 201 /)
  expect(await endsInTime(service)).toEqual({ code: 0, signal: null })
})

test.each([
  ['the creation of the database', 'database is being created'],
  ['the migrations', 'migration applied'],
  ['the last steps', 'change listener connected'],
])('a signal during %s ends the startup, and the next start is complete', async (_, line) => {
  const dataDir = await scratch()
  const env = { ...PLAIN, DATA_DIR: dataDir, LOG_LEVEL: 'info' }
  const begun = command(['start'], env)
  await until(`the start has come to: ${line}`, () => begun.stdout().includes(line) || undefined)
  begun.signal('SIGTERM')
  await begun.ended
  await nobodyLeft(dataDir)
  const service = await startService(env)
  expect(await service.call('GET', '/readyz')).toMatchObject({ status: 200 })
  await tokenOf(service)
  await service.stop()
})
