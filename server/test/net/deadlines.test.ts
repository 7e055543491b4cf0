/** Time limits of requests: slow servers, cancellation and shutdown. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { openReceiver } from '../support/receiver.ts'
import { eventually, ok, openNamed, openRaw, openWayOut } from './scene.ts'

const DEADLINE = { deadlineMs: 1500 }
const late = (missing: string) => ({
  kind: 'failed',
  failure: 'timed_out',
  detail: `${missing} within 1.5 seconds`,
  address: '127.0.0.1',
})

describe('the deadline of an outgoing request', () => {
  test('ends a request without a response, and closes the connection', async () => {
    const receiver = await openReceiver({ answer: () => 'stall' })
    expect(await openWayOut().send(receiver.url, DEADLINE)).toMatchObject(late('no response'))
    await eventually('0 are open', () => receiver.open() === 0)
  })

  test('ends a request that gets only interim responses, because no byte restarts the deadline', async () => {
    const server = await openRaw((socket) => {
      const timer = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), 20)
      socket.on('close', () => clearInterval(timer))
    })
    expect(await openWayOut().send(server.url, DEADLINE)).toMatchObject(late('no response'))
  })

  test('ends a request whose response header arrives too slowly', async () => {
    const server = await openRaw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nx-long: ')
      const timer = setInterval(() => socket.write('x'), 20)
      socket.on('close', () => clearInterval(timer))
    })
    expect(await openWayOut().send(server.url, DEADLINE)).toMatchObject(late('no response'))
  })

  test('ends a request whose response body arrives too slowly, even after its status has arrived', async () => {
    const server = await openRaw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 60000\r\n\r\n')
      const timer = setInterval(() => socket.write('x'), 20)
      socket.on('close', () => clearInterval(timer))
    })
    expect(await openWayOut().send(server.url, DEADLINE)).toMatchObject(late('incomplete response'))
  })

  test('ends a TLS handshake that gets no response', async () => {
    const server = await openRaw(() => undefined)
    expect(await openWayOut().send(`https://127.0.0.1:${server.port}/`, DEADLINE)).toMatchObject(
      late('no TLS handshake'),
    )
  })

  test('does not affect other requests', async () => {
    const receiver = await openReceiver({
      answer: (_request, index) => (index === 0 ? 'stall' : { status: 200 }),
    })
    const out = openWayOut()
    const stuck = out.send(receiver.url, DEADLINE)
    await eventually('it has arrived', () => receiver.received.length === 1)
    expect(await out.send(receiver.url)).toMatchObject({ status: 200 })
    expect(await stuck).toMatchObject(late('no response'))
    expect(await out.send(receiver.url)).toMatchObject({ status: 200 })
  })
})

describe('a cancelled outgoing request', () => {
  const calledOff = { kind: 'failed', failure: 'aborted', detail: 'the request was cancelled' }

  test('is not sent if it is cancelled before its start', async () => {
    const receiver = await openReceiver()
    expect(await openWayOut().send(receiver.url, { signal: AbortSignal.abort() })).toMatchObject(
      calledOff,
    )
    expect(receiver.received).toEqual([])
  })

  test('ends immediately during the DNS lookup', async () => {
    const { out, dns } = await openNamed({ 'pit.test': 'silence' })
    const caller = new AbortController()
    const exchange = out.send('http://pit.test/', { signal: caller.signal })
    await eventually('DNS is asked', () => dns.asked.length > 0)
    caller.abort()
    expect(await exchange).toMatchObject({ ...calledOff, address: null })
  })

  test('ends immediately while it waits for the response, and closes the connection', async () => {
    const receiver = await openReceiver({ answer: () => 'stall' })
    const caller = new AbortController()
    const exchange = openWayOut().send(receiver.url, { signal: caller.signal })
    await eventually('it has arrived', () => receiver.received.length === 1)
    caller.abort()
    expect(await exchange).toMatchObject({ ...calledOff, address: '127.0.0.1' })
    await eventually('0 are open', () => receiver.open() === 0)
  })

  test('can share its abort signal with many others, and leaves no listeners on that signal', async () => {
    const warnings: Error[] = []
    const note = (warning: Error) => warnings.push(warning)
    process.on('warning', note)
    onTestFinished(() => void process.off('warning', note))
    const receiver = await openReceiver()
    const out = openWayOut()
    const { signal } = new AbortController()
    for (let round = 0; round < 3; round += 1)
      await Promise.all(Array.from({ length: 40 }, () => out.send(receiver.url, { signal })))
    expect(receiver.received).toHaveLength(120)
    expect(warnings).toEqual([])
  })
})

describe('closing the HTTP client', () => {
  const stopped = { kind: 'failed', failure: 'aborted', detail: 'the service is shutting down' }

  test('ends running requests, DNS lookups and idle connections', async () => {
    const receiver = await openReceiver({
      answer: ({ path }) => (path === '/stall' ? 'stall' : { status: 200 }),
    })
    const { out, dns } = await openNamed({ 'pit.test': 'silence' })
    await out.send(receiver.url)
    const running = [
      out.send('http://pit.test/'),
      ...['a', 'b'].map(() => out.send(new URL('/stall', receiver.url).href)),
    ]
    await eventually('all are under way', () => receiver.open() === 2 && dns.asked.length > 0)
    await out.close()
    expect(await Promise.all(running)).toMatchObject([stopped, stopped, stopped])
    await eventually('0 are open', () => receiver.open() === 0)
  })

  test('refuses new requests, and may be repeated', async () => {
    const receiver = await openReceiver()
    const out = openWayOut()
    await out.close()
    await out.close()
    expect(await out.send(receiver.url)).toMatchObject(stopped)
    expect(receiver.received).toEqual([])
  })

  test('leaves no connection open', async () => {
    const server = await openRaw((socket) => socket.write(ok()))
    const out = openWayOut()
    await Promise.all(Array.from({ length: 5 }, () => out.send(server.url)))
    expect(await server.open()).toBe(5)
    await out.close()
    await eventually('0 are open', () => server.open() === 0)
  })
})
