/** The real build of the console: complete, compressed, within its policy and its budget. */
import { readdir } from 'node:fs/promises'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { beforeAll, expect, it } from 'vitest'
import { builtConsole } from '../support/built-console.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service
let files: string[]

beforeAll(async () => {
  const consoleFolder = await builtConsole()
  service = await openService({ consoleFolder })
  files = await readdir(consoleFolder, { recursive: true })
})

const get = (url: string, headers: Record<string, string> = {}) =>
  service.app.server.inject({ url, headers })

it('the built console includes every file that index.html names', async () => {
  const { body } = await get('/console')
  const addresses = [...body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name = '']) => name)
  expect(addresses.filter((name) => name.startsWith('/console/assets/'))).not.toEqual([])
  for (const address of addresses)
    expect([address, (await get(address)).statusCode]).toEqual([address, 200])
})

it('the built console has no inline script or style, which the security policy would refuse', async () => {
  const { body } = await get('/console')
  expect(body).not.toMatch(/<script>|<style|\son\w+=|\sstyle=|javascript:/)
})

it('the built console includes brotli and gzip variants of its scripts and styles', async () => {
  const scripts = files.filter((name) => /^assets\/.+\.js$/.test(name))
  expect(scripts).not.toEqual([])
  for (const name of scripts.map((script) => `/console/${script}`)) {
    const plain = (await get(name)).rawPayload
    if (plain.length < 1000) continue
    const [br, gz] = await Promise.all(
      ['br', 'gzip'].map((encoding) => get(name, { 'accept-encoding': encoding })),
    )
    expect(brotliDecompressSync(br?.rawPayload ?? '').equals(plain)).toBe(true)
    expect(gunzipSync(gz?.rawPayload ?? '').equals(plain)).toBe(true)
  }
})

it('the built console is a production build', async () => {
  const [script = ''] = files.filter((name) => /^assets\/index-.+\.js$/.test(name))
  expect((await get(`/console/${script}`)).body).not.toContain('jsxDEV')
})
