/** TLS: nothing is sent unless the server's certificate matches its name. */
import { createServer } from 'node:https'
import type { SecureVersion } from 'node:tls'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Certificate, makeCertificate } from '../support/certificate.ts'
import { openNamed, openRaw, openWayOut } from './scene.ts'

const { key, cert } = makeCertificate()

interface Options {
  certificate?: Certificate
  versions?: { minVersion: SecureVersion; maxVersion: SecureVersion }
}

/** Opens an https server on 127.0.0.1 with a certificate for 127.0.0.1 and localhost. */
async function openSecure({ certificate = { key, cert }, versions }: Options = {}) {
  const seen: { name: string | false | undefined; alpn: string | false | null }[] = []
  // OpenSSL supports the old versions only at security level 0.
  const old = versions ? { ...versions, ciphers: 'DEFAULT@SECLEVEL=0' } : {}
  const server = createServer({ ...certificate, ...old }, (request, response) => {
    const socket = request.socket as import('node:tls').TLSSocket
    seen.push({
      name: (socket as { servername?: string | false }).servername,
      alpn: socket.alpnProtocol,
    })
    response.end('secure')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as { port: number }).port, seen }
}

const failed = (detail: string) => ({
  kind: 'failed',
  failure: 'tls_failed',
  detail,
  address: '127.0.0.1',
})

describe('a server with a valid certificate', () => {
  test('can be reached by its IP address', async () => {
    const server = await openSecure()
    const out = openWayOut({ ca: cert })
    for (let round = 0; round < 2; round += 1)
      expect(await out.send(`https://127.0.0.1:${server.port}/`)).toMatchObject({
        kind: 'answered',
        body: 'secure',
        address: '127.0.0.1',
      })
    expect(server.seen).toEqual(Array(2).fill({ name: false, alpn: 'http/1.1' }))
  })

  test('can be reached by its host name, which the handshake contains', async () => {
    const server = await openSecure()
    const out = openWayOut({ ca: cert, allowed: '127.0.0.0/8, ::1' })
    expect(await out.send(`https://localhost.:${server.port}/`)).toMatchObject({ body: 'secure' })
    expect(server.seen).toEqual([{ name: 'localhost', alpn: 'http/1.1' }])
  })

  test.each(['TLSv1.2', 'TLSv1.3'] as const)('can be reached with %s', async (version) => {
    const server = await openSecure({ versions: { minVersion: version, maxVersion: version } })
    expect(await openWayOut({ ca: cert }).send(`https://127.0.0.1:${server.port}/`)).toMatchObject({
      body: 'secure',
    })
  })
})

describe('a server receives no data', () => {
  test('if no known authority signed its certificate', async () => {
    const server = await openSecure()
    expect(await openWayOut().send(`https://127.0.0.1:${server.port}/`)).toMatchObject(
      failed('the certificate was issued by an unknown authority'),
    )
    expect(server.seen).toEqual([])
  })

  test('if another authority signed its certificate', async () => {
    const server = await openSecure()
    const out = openWayOut({ ca: makeCertificate().cert })
    expect(await out.send(`https://127.0.0.1:${server.port}/`)).toMatchObject({
      failure: 'tls_failed',
    })
    expect(server.seen).toEqual([])
  })

  test('if its certificate is for another host', async () => {
    const server = await openSecure()
    const { out } = await openNamed({ 'hooks.test': ['127.0.0.1'] }, { ca: cert })
    expect(await out.send(`https://hooks.test:${server.port}/`)).toMatchObject(
      failed('the certificate is for another host'),
    )
    expect(server.seen).toEqual([])
  })

  test('if its certificate has expired', async () => {
    const expired = makeCertificate({ until: Date.now() - 1000 })
    const server = await openSecure({ certificate: expired })
    const out = openWayOut({ ca: expired.cert })
    expect(await out.send(`https://127.0.0.1:${server.port}/`)).toMatchObject(
      failed('the certificate has expired'),
    )
    expect(server.seen).toEqual([])
  })

  test('even if the environment disables certificate checks', async () => {
    const server = await openSecure()
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
    onTestFinished(() => void delete process.env.NODE_TLS_REJECT_UNAUTHORIZED)
    expect(await openWayOut().send(`https://127.0.0.1:${server.port}/`)).toMatchObject({
      failure: 'tls_failed',
    })
    expect(server.seen).toEqual([])
  })

  test('if it supports only insecure TLS versions', async () => {
    const server = await openSecure({ versions: { minVersion: 'TLSv1', maxVersion: 'TLSv1.1' } })
    expect(await openWayOut({ ca: cert }).send(`https://127.0.0.1:${server.port}/`)).toMatchObject(
      failed('the server does not support a secure TLS version (1.2 or newer)'),
    )
  })

  test('if it does not support TLS', async () => {
    const server = await openRaw(() => undefined)
    const plain = await openSecure()
    const { createServer: createPlain } = await import('node:http')
    const http = createPlain()
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void http.close())
    const { port } = http.address() as { port: number }
    expect(await openWayOut().send(`https://127.0.0.1:${port}/`)).toMatchObject(
      failed('the server does not speak TLS on this port'),
    )
    expect([server.requests(), plain.seen.length]).toEqual([0, 0])
  })
})
