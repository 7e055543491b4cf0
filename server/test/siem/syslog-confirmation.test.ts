/** The export over syslog: when an entry counts as delivered, and connections that are not secure. */
import { once } from 'node:events'
import { type AddressInfo, createServer as createTcp, type Server, type Socket } from 'node:net'
import { createServer as createTls } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { makeCertificate } from '../support/certificate.ts'
import { atTheEnd } from '../support/cleanup.ts'
import { goldenDatabase, type TestDatabase } from '../support/database.ts'
import type { Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { messagesIn, parseSyslog } from './parsers.ts'
import { exporting, openExporter, rowOf, TCP, TLS, writeEntries } from './scene.ts'

const { cert, key } = makeCertificate()

interface Listener {
  server: Server
  port: number
  sockets: Socket[]
  text(): string
}

async function listenOn(server: Server): Promise<Listener> {
  const sockets: Socket[] = []
  let text = ''
  server.on('connection', (socket) => void sockets.push(socket.on('error', () => undefined)))
  server.on(
    server.listenerCount('secureConnection') > 0 ? 'secureConnection' : 'connection',
    (socket) => {
      socket.on('error', () => undefined)
      socket.on('data', (data: Buffer) => {
        text += data.toString('latin1')
      })
    },
  )
  server.on('tlsClientError', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atTheEnd(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { server, port: (server.address() as AddressInfo).port, sockets, text: () => text }
}

const sequencesIn = (text: string) =>
  messagesIn(text).map((message) => JSON.parse(parseSyslog(message).body).metadata.sequence)

async function scene(): Promise<{ listener: Listener; service: Service; database: TestDatabase }> {
  const listener = await listenOn(createTcp())
  const database = await goldenDatabase()
  const service = await openExporter({ SIEM_URL: TCP(listener.port) }, database)
  await exporting(database)
  return { listener, service, database }
}

const arrived = (listener: Listener, count: number) =>
  until(`${count} entries arrive`, () => {
    try {
      return messagesIn(listener.text()).length >= count || undefined
    } catch {
      return undefined
    }
  })

test('an entry counts as delivered after five seconds, and is not sent again', async () => {
  const { listener, service, database } = await scene()
  await writeEntries(service, 2)
  await arrived(listener, 2)
  await service.idle('siem')
  expect((await rowOf(database))?.sequence).toBe(0)
  service.clock.elapse(5_000)
  await until(
    'the position is saved',
    async () => (await rowOf(database))?.sequence === 2 || undefined,
  )
  // Without unconfirmed entries, the end of the connection loses nothing.
  for (const socket of listener.sockets) socket.destroy()
  await writeEntries(service, 1)
  await arrived(listener, 3)
  expect(sequencesIn(listener.text())).toEqual([1, 2, 3])
  expect((await rowOf(database))?.failing_since).toBeNull()
})

test('entries on a connection that ended within five seconds are sent again, even after a pause of the process', async () => {
  const { listener, service, database } = await scene()
  await writeEntries(service, 2)
  await arrived(listener, 2)
  await service.idle('siem')
  for (const socket of listener.sockets) socket.destroy()
  // The end of the connection has arrived, but the process handles it only after the time has passed.
  service.clock.elapse(6_000)
  await arrived(listener, 4)
  expect(sequencesIn(listener.text())).toEqual([1, 2, 1, 2])
  expect((await rowOf(database))?.sequence).toBe(0)
})

describe('no entry is sent in plain text, and the reason is known, if the receiver', () => {
  test.each<[string, () => Server, RegExp]>([
    [
      'does not speak TLS',
      () => createTcp((socket) => socket.write('220 hello\r\n')),
      /does not speak TLS/,
    ],
    [
      'supports only an old version of TLS',
      () =>
        createTls({
          cert,
          key,
          minVersion: 'TLSv1',
          maxVersion: 'TLSv1.1',
          ciphers: 'DEFAULT@SECLEVEL=0',
        }),
      /TLS/,
    ],
    [
      'has a certificate of an unknown authority',
      () => createTls(makeCertificate()),
      /unknown authority/,
    ],
  ])('%s', async (_, server, reason) => {
    const listener = await listenOn(server())
    const database = await goldenDatabase()
    const service = await openExporter(
      { SIEM_URL: TLS(listener.port), SIEM_CA_FILE: cert },
      database,
    )
    await exporting(database)
    await writeEntries(service, 1)
    await until('the export fails', async () => (await rowOf(database))?.failing_since)
    const [row] = await database.sql(`select error from journal_consumers where consumer = 'siem'`)
    expect(row?.error).toMatch(reason)
    expect(listener.text()).not.toContain('wardkeep')
  })
})
