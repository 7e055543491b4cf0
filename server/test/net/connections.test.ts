/** Connections are kept and used again, each for its origin alone, and not beyond their time. */
import { createServer, type Server } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { eventually, ok, openNamed, openRaw, openWayOut } from './scene.ts'

describe('a connection', () => {
  test('is used again by the next request to its origin', async () => {
    const server = await openRaw((socket) => socket.write(ok()))
    const out = openWayOut()
    for (let round = 0; round < 10; round += 1) await out.send(`${server.url}/${round}`)
    expect([server.connections(), server.requests()]).toEqual([1, 10])
  })

  test('carries one request at a time', async () => {
    const server = await openRaw((socket) => socket.write(ok()))
    const out = openWayOut()
    for (let round = 0; round < 5; round += 1)
      await Promise.all(Array.from({ length: 4 }, () => out.send(server.url)))
    expect([server.connections(), server.requests()]).toEqual([4, 20])
  })

  test('is not used for another origin, although the address is the same', async () => {
    const server = await openRaw((socket) => socket.write(ok()))
    const { out } = await openNamed({ 'one.test': ['127.0.0.1'], 'two.test': ['127.0.0.1'] })
    for (const host of ['one.test', 'two.test', 'ONE.test', '127.0.0.1'])
      await out.send(`http://${host}:${server.port}/`)
    expect(server.connections()).toBe(3)
  })

  test('tells its address for every request, the first and the later ones', async () => {
    const server = await openRaw((socket, { index }) =>
      socket.end(ok('', ...(index === 1 ? ['connection: close'] : []))),
    )
    const elsewhere = await openRaw((socket) => socket.write(ok()), '127.0.0.2', server.port)
    const { out } = await openNamed({
      'turn.test': (index, type) => (type === 'A' ? [index === 0 ? '127.0.0.2' : '127.0.0.1'] : []),
    })
    const url = `http://turn.test:${server.port}/`
    const addresses = []
    for (let round = 0; round < 3; round += 1) addresses.push((await out.send(url)).address)
    await elsewhere.close()
    addresses.push((await out.send(url)).address)
    expect(addresses).toEqual(['127.0.0.2', '127.0.0.2', '127.0.0.2', '127.0.0.1'])
  })

  test('is not used again where the server says so', async () => {
    const server = await openRaw((socket) => socket.write(ok('', 'connection: close')))
    const out = openWayOut()
    for (let round = 0; round < 3; round += 1)
      expect(await out.send(server.url)).toMatchObject({ status: 200 })
    expect(server.connections()).toBe(3)
  })

  test('is not kept longer than it may be idle', async () => {
    const server = await openRaw((socket) => socket.write(ok()))
    const out = openWayOut({ idleMs: 50 })
    await out.send(server.url)
    await eventually('0 are open', () => server.open() === 0)
    expect(await out.send(server.url)).toMatchObject({ status: 200 })
    expect(server.connections()).toBe(2)
  })

  test('is not kept as long as the server would close it itself', async () => {
    // Two seconds are left for the way; a connection that has no more is not kept at all.
    const server = await openRaw((socket) => socket.write(ok('', 'keep-alive: timeout=2')))
    const out = openWayOut()
    await out.send(server.url)
    await out.send(server.url)
    expect(server.connections()).toBe(2)
  })

  test('is one of a bounded number that is kept', async () => {
    const server = await openRaw((socket) => socket.write(ok()))
    const zone = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [`h${index}.test`, ['127.0.0.1']]),
    )
    const { out } = await openNamed(zone, { idleMs: 60_000 })
    const sendAll = (round: number) =>
      Promise.all(
        Object.keys(zone).flatMap((host) =>
          Array.from({ length: 14 }, () => out.send(`http://${host}:${server.port}/${round}`)),
        ),
      )
    const exchanges = await sendAll(0)
    expect(exchanges.filter(({ kind }) => kind !== 'answered')).toEqual([])
    expect(server.connections()).toBe(560)
    await eventually('512 are open', () => server.open() === 512)
  })
})

describe('a kept connection that the server closed', () => {
  /** Closes a connection as the second request comes over it. */
  const closing = (close: 'end' | 'resetAndDestroy') =>
    openRaw((socket, { ofConnection }) =>
      ofConnection === 0 ? socket.write(ok()) : socket[close](),
    )

  test.each(['end', 'resetAndDestroy'] as const)(
    'just as the request came is replaced, and the request answered: %s',
    async (close) => {
      const server = await closing(close)
      const out = openWayOut()
      await out.send(server.url)
      expect(await out.send(server.url)).toMatchObject({ kind: 'answered', status: 200 })
      expect([server.connections(), server.requests()]).toEqual([2, 3])
    },
  )

  test('while nobody looked is replaced', async () => {
    const server = await openRaw((socket) => socket.end(ok()))
    const out = openWayOut()
    await out.send(server.url)
    await eventually('it is closed', () => server.open() === 0)
    expect(await out.send(server.url)).toMatchObject({ status: 200 })
    expect(server.requests()).toBe(2)
  })

  test('is replaced once: a new connection that breaks is a failure', async () => {
    const server = await openRaw((socket, { index }) =>
      index === 0 ? socket.write(ok()) : socket.destroy(),
    )
    const out = openWayOut()
    await out.send(server.url)
    expect(await out.send(server.url)).toMatchObject({
      failure: 'connection_lost',
      detail: 'the connection ended without an answer',
    })
    expect([server.connections(), server.requests()]).toEqual([2, 3])
  })

  test('after a byte of the answer is a failure', async () => {
    const server = await openRaw((socket, { index }) =>
      index === 0 ? socket.write(ok()) : socket.end('HTTP/1.1 2'),
    )
    const out = openWayOut()
    await out.send(server.url)
    expect(await out.send(server.url)).toMatchObject({ failure: 'connection_lost' })
    expect([server.connections(), server.requests()]).toEqual([1, 2])
  })

  test('is not replaced after the deadline', async () => {
    const server = await openRaw((socket, { index }) => {
      if (index === 0) socket.write(ok())
    })
    const out = openWayOut()
    await out.send(server.url)
    expect(await out.send(server.url, { deadlineMs: 1500 })).toMatchObject({ failure: 'timed_out' })
    expect([server.connections(), server.requests()]).toEqual([1, 2])
  })

  test('at the same moment loses no request, however often', async () => {
    // Node closes after its time, so both ends race again and again.
    const server: Server = createServer((_request, response) => response.end('ok'))
    server.keepAliveTimeout = 1
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as { port: number }
    const out = openWayOut()
    const exchanges = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const kinds = []
        for (let round = 0; round < 50; round += 1)
          kinds.push((await out.send(`http://127.0.0.1:${port}/`)).kind)
        return kinds
      }),
    )
    expect(new Set(exchanges.flat())).toEqual(new Set(['answered']))
  })
})

describe('no connection', () => {
  test('is a refusal where nobody listens', async () => {
    const server = await openRaw(() => undefined)
    await server.close()
    expect(await openWayOut().send(server.url)).toMatchObject({
      failure: 'connection_refused',
      detail: 'connection refused',
      address: '127.0.0.1',
    })
  })

  test('to one address is made to another one of the name', async () => {
    const server = await openRaw((socket) => socket.write(ok('here')))
    const { out } = await openNamed({ 'two.test': ['127.0.0.2', '127.0.0.1'] })
    expect(await out.send(`http://two.test:${server.port}/`)).toMatchObject({
      body: 'here',
      address: '127.0.0.1',
    })
  })

  test('to any address of a name is a refusal', async () => {
    const server = await openRaw(() => undefined)
    await server.close()
    const { out } = await openNamed({ 'two.test': ['127.0.0.2', '127.0.0.1'] })
    expect(await out.send(`http://two.test:${server.port}/`)).toMatchObject({
      failure: 'connection_refused',
      address: null,
    })
  })

  test('to a network that cannot be reached is a failure', async () => {
    const out = openWayOut({ allowed: '255.255.255.255' })
    expect(await out.send('http://255.255.255.255/')).toMatchObject({
      kind: 'failed',
      failure: 'connection_failed',
    })
  })
})
