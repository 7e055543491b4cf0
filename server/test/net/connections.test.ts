/** Idle connections are reused only for their origin, and only for a limited time. */
import { createServer, type Server } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { eventually, ok, openNamed, openRaw, openWayOut } from './scene.ts'

describe('a connection for outgoing requests', () => {
  test('is reused by the next request to its origin', async () => {
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

  test('is not reused for another origin, even with the same IP address', async () => {
    const server = await openRaw((socket) => socket.write(ok()))
    const { out } = await openNamed({ 'one.test': ['127.0.0.1'], 'two.test': ['127.0.0.1'] })
    for (const host of ['one.test', 'two.test', 'ONE.test', '127.0.0.1'])
      await out.send(`http://${host}:${server.port}/`)
    expect(server.connections()).toBe(3)
  })

  test('has its IP address reported for every request, not only for the first', async () => {
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

  test('is not reused if the server announces to close it', async () => {
    const server = await openRaw((socket) => socket.write(ok('', 'connection: close')))
    const out = openWayOut()
    for (let round = 0; round < 3; round += 1)
      expect(await out.send(server.url)).toMatchObject({ status: 200 })
    expect(server.connections()).toBe(3)
  })

  test("is closed after the client's idle limit", async () => {
    const server = await openRaw((socket) => socket.write(ok()))
    const out = openWayOut({ idleMs: 50 })
    await out.send(server.url)
    await eventually('0 are open', () => server.open() === 0)
    expect(await out.send(server.url)).toMatchObject({ status: 200 })
    expect(server.connections()).toBe(2)
  })

  test("is closed before the server's own idle limit", async () => {
    // Two seconds are reserved for the network. A connection with less time left is closed at once.
    const server = await openRaw((socket) => socket.write(ok('', 'keep-alive: timeout=2')))
    const out = openWayOut()
    await out.send(server.url)
    await out.send(server.url)
    expect(server.connections()).toBe(2)
  })

  test('is closed if there are too many idle connections', async () => {
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

describe('a reused connection that the server closes', () => {
  /** Closes a connection at the moment when the second request arrives on it. */
  const closing = (close: 'end' | 'resetAndDestroy') =>
    openRaw((socket, { ofConnection }) =>
      ofConnection === 0 ? socket.write(ok()) : socket[close](),
    )

  test.each(['end', 'resetAndDestroy'] as const)(
    'while the request arrives is replaced, and the request succeeds (closed with %s)',
    async (close) => {
      const server = await closing(close)
      const out = openWayOut()
      await out.send(server.url)
      expect(await out.send(server.url)).toMatchObject({ kind: 'answered', status: 200 })
      expect([server.connections(), server.requests()]).toEqual([2, 3])
    },
  )

  test('while it is idle is replaced', async () => {
    const server = await openRaw((socket) => socket.end(ok()))
    const out = openWayOut()
    await out.send(server.url)
    await eventually('it is closed', () => server.open() === 0)
    expect(await out.send(server.url)).toMatchObject({ status: 200 })
    expect(server.requests()).toBe(2)
  })

  test('is replaced only once: if the new connection breaks too, the request fails', async () => {
    const server = await openRaw((socket, { index }) =>
      index === 0 ? socket.write(ok()) : socket.destroy(),
    )
    const out = openWayOut()
    await out.send(server.url)
    expect(await out.send(server.url)).toMatchObject({
      failure: 'connection_lost',
      detail: 'the connection closed without a response',
    })
    expect([server.connections(), server.requests()]).toEqual([2, 3])
  })

  test('after a byte of the response makes the request fail', async () => {
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

  test('at the moment of the request loses no request, even if that happens often', async () => {
    // Node closes the connection after its idle time, so both ends close and send at the same time again and again.
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

describe('a failed attempt to connect', () => {
  test('is reported as refused if no server listens', async () => {
    const server = await openRaw(() => undefined)
    await server.close()
    expect(await openWayOut().send(server.url)).toMatchObject({
      failure: 'connection_refused',
      detail: 'connection refused',
      address: '127.0.0.1',
    })
  })

  test('to one address of a host name is followed by an attempt at another address', async () => {
    const server = await openRaw((socket) => socket.write(ok('here')))
    const { out } = await openNamed({ 'two.test': ['127.0.0.2', '127.0.0.1'] })
    expect(await out.send(`http://two.test:${server.port}/`)).toMatchObject({
      body: 'here',
      address: '127.0.0.1',
    })
  })

  test('to all addresses of a host name is reported as refused', async () => {
    const server = await openRaw(() => undefined)
    await server.close()
    const { out } = await openNamed({ 'two.test': ['127.0.0.2', '127.0.0.1'] })
    expect(await out.send(`http://two.test:${server.port}/`)).toMatchObject({
      failure: 'connection_refused',
      address: null,
    })
  })

  test('to an unreachable network is reported as failed', async () => {
    const out = openWayOut({ allowed: '255.255.255.255' })
    expect(await out.send('http://255.255.255.255/')).toMatchObject({
      kind: 'failed',
      failure: 'connection_failed',
    })
  })
})
