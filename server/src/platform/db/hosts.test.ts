/** Tests which host is chosen if an address has several. */
import { createServer } from 'node:net'
import { beforeAll, expect, test } from 'vitest'
import { atTheEnd } from '../../../test/support/cleanup.ts'
import { endingPool } from '../../../test/support/database.ts'
import { query } from '../../../test/support/embedded.ts'
import { openSwitch, type TcpSwitch } from '../../../test/support/tcp-switch.ts'
import { startTwoServers, type TwoServers } from '../../../test/support/two-servers.ts'
import { until } from '../../../test/support/until.ts'
import { listenerClient, openPool, openWorkerPool, ownerClient, plainClient } from './connection.ts'
import { problemOf } from './failures.ts'
import { HostClient, hangUp } from './hosts.ts'
import { requireSessionPooling } from './pooling.ts'

let servers: TwoServers
let primary: TcpSwitch
let standby: TcpSwitch
/** A host that accepts connections and never responds. */
let silentPort: number

beforeAll(async () => {
  servers = await startTwoServers()
  primary = await openSwitch(servers.primary)
  standby = await openSwitch(servers.standby)
  const silent = createServer((socket) => void socket.on('error', () => undefined).resume())
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  atTheEnd(() => new Promise((resolve) => silent.close(resolve)))
  silentPort = (silent.address() as { port: number }).port
})

const addressOf = (...ports: number[]) => {
  const { user, database } = servers.primary
  return {
    url: `postgres://${user}@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/${database}`,
  }
}

test('a connection with several hosts skips a host that refuses connections, a host that never responds and a standby', async () => {
  const address = addressOf(1, silentPort, standby.port, primary.port)
  for (const open of [ownerClient, listenerClient, plainClient]) {
    const start = performance.now()
    const client = open(address)
    await client.connect()
    expect(performance.now() - start).toBeLessThan(5_000)
    expect(client.port).toBe(primary.port)
    const { rows } = await client.query('select pg_is_in_recovery() as is_standby')
    expect(rows).toEqual([{ is_standby: false }])
    await client.end()
  }
  for (const open of [openPool, openWorkerPool])
    expect((await endingPool(open(address, 2)).query('select 1 as one')).rows).toEqual([{ one: 1 }])
  await requireSessionPooling(address)
})

test('a connection with several hosts names the problem of each host if no host can write', async () => {
  const failing = ownerClient(addressOf(1, standby.port)).connect()
  const error = await failing.catch((refused) => refused)
  expect(problemOf(error)?.code).toBe('database_away')
  expect(error.message).toMatch(/127\.0\.0\.1:1: .*ECONNREFUSED.* is a standby/)
})

test('a connection with several hosts stops trying hosts if the database does not exist', async () => {
  const { url } = addressOf(primary.port, standby.port)
  const client = ownerClient({ url: url.replace(/\/[^/]*$/, '/none') })
  await expect(client.connect()).rejects.toMatchObject({ code: '3D000' })
})

test.each([
  ['ended', (client: HostClient) => void client.end()],
  ['hung up', hangUp],
])(
  'a connection with several hosts never connects a client that was %s while hosts were tried',
  async (_, giveUp) => {
    const found = Promise.withResolvers<{ host: string; port: number }>()
    const { user, database } = servers.primary
    const client = new HostClient({ user, database, hosts: { find: () => found.promise } })
    const failing = client.connect().catch((error) => error)
    giveUp(client)
    found.resolve({ host: '127.0.0.1', port: primary.port })
    expect(problemOf(await failing)?.code).toBe('database_away')
  },
)

// This test runs last, because the two servers differ afterwards.
test('a connection with several hosts switches to a promoted standby and stays with it', async () => {
  const address = addressOf(primary.port, standby.port)
  const portNow = async () => {
    const client = ownerClient(address)
    await client.connect()
    await client.end()
    return client.port
  }
  expect(await portNow()).toBe(primary.port)
  await query(servers.primary, 'alter system set default_transaction_read_only = on')
  await query(servers.primary, 'select pg_reload_conf()')
  await query(servers.standby, 'select pg_promote()')
  await until('it uses the promoted server', async () =>
    (await portNow().catch(() => 0)) === standby.port ? true : undefined,
  )
  await query(servers.primary, 'alter system reset default_transaction_read_only')
  await query(servers.primary, 'select pg_reload_conf()')
  expect(await portNow()).toBe(standby.port)
})
