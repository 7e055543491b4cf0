/** A failed startup prints one or two sentences on stderr and exits with code 1. */
import { spawnSync } from 'node:child_process'
import { chmod, readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { freePort, PLAIN, refusedStart, startService } from '../support/process.ts'
import { isRoot, nobodyLeft } from '../support/processes.ts'
import { scratch } from '../support/scratch.ts'
import { until } from '../support/until.ts'

const on = (dataDir: string, more: NodeJS.ProcessEnv = {}) => ({
  ...PLAIN,
  DATA_DIR: dataDir,
  LOG_LEVEL: 'error',
  ...more,
})

/** Opens a listener on its own port until the test ends. */
async function occupied(): Promise<number> {
  const server = createServer()
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return port
}

describe('the service refuses to start', () => {
  test('with a data folder that another service uses, which is named and keeps running', async () => {
    const dataDir = await scratch()
    const first = await startService(on(dataDir))
    const lines = await refusedStart(on(dataDir))
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain(`process ${first.pid}, `)
    expect(lines[0]).toContain(dataDir)
    expect(lines[0]).toContain('Stop it first')
    expect(await first.call('GET', '/readyz')).toMatchObject({ status: 200 })
    await first.stop()
  })

  test('with a data folder of another major version of PostgreSQL, and explains how to upgrade', async () => {
    const dataDir = await scratch()
    await (await startService(on(dataDir))).stop()
    const file = join(dataDir, 'postgres', 'PG_VERSION')
    const own = await readFile(file, 'utf8')
    await writeFile(file, '17\n')
    const lines = await refusedStart(on(dataDir))
    expect(lines).toHaveLength(2)
    expect(lines[0]).toMatch(/PostgreSQL 17, but this release of Wardkeep uses PostgreSQL 18\.$/)
    expect(lines[1]).toMatch(/upgrade.*backup.*restore/)
    await writeFile(file, own)
    await (await startService(on(dataDir))).stop()
  })

  test.runIf(isRoot)('with a data folder that the server account cannot access', async () => {
    const wall = await scratch()
    await chmod(wall, 0o700)
    const lines = await refusedStart(on(join(wall, 'data')))
    expect(lines).toEqual([expect.stringContaining(`is inside ${wall}, which the account "`)])
    expect(lines[0]).toContain('Set DATA_DIR')
  })

  test('with a full disk, at the first start and at a later one', async (context) => {
    const dataDir = await scratch()
    const mount = ['-t', 'tmpfs', '-o', 'size=24m,mode=0711', 'tmpfs', dataDir]
    if (spawnSync('mount', mount).status !== 0)
      context.skip('needs root with the right to mount file systems')
    onTestFinished(async () => {
      await nobodyLeft(dataDir)
      await until(
        'the disk is free',
        () => spawnSync('umount', [dataDir]).status === 0 || undefined,
      )
    })
    const isFull = [expect.stringMatching(/^The disk of the data folder .* is full\. Free some/)]
    expect(await refusedStart(on(dataDir))).toEqual(isFull)
    spawnSync('mount', ['-o', 'remount,size=160m', dataDir])
    await (await startService(on(dataDir))).stop()
    spawnSync('dd', ['if=/dev/zero', `of=${join(dataDir, 'ballast')}`, 'bs=4k'])
    expect(await refusedStart(on(dataDir))).toEqual(isFull)
    spawnSync('rm', [join(dataDir, 'ballast')])
    await (await startService(on(dataDir))).stop()
  })

  test('with a port that is in use, before it creates any file', async () => {
    const dataDir = await scratch()
    const port = await occupied()
    const lines = await refusedStart(on(dataDir, { PORT: String(port) }))
    expect(lines).toEqual([
      expect.stringMatching(
        new RegExp(`^PORT: port ${port} is already in use on 127\\.0\\.0\\.1\\. .*\\.$`),
      ),
    ])
    expect(await readdir(dataDir)).toEqual([])
  })

  test('with a metrics port that is in use, and names the variable', async () => {
    const port = await occupied()
    const lines = await refusedStart(on(await scratch(), { METRICS_PORT: String(port) }))
    expect(lines).toEqual([
      expect.stringMatching(new RegExp(`^METRICS_PORT: port ${port} is already in use`)),
    ])
  })

  test('with the same port for requests and metrics, before it creates any file', async () => {
    const dataDir = await scratch()
    const port = String(await freePort())
    const lines = await refusedStart(on(dataDir, { PORT: port, METRICS_PORT: port }))
    expect(lines).toEqual([
      expect.stringMatching(new RegExp(`^METRICS_PORT: port ${port} is already in use`)),
    ])
    expect(await readdir(dataDir)).toEqual([])
  })

  test('with an address that does not belong to the computer', async () => {
    const lines = await refusedStart(on(await scratch(), { HOST: '192.0.2.7' }))
    expect(lines).toEqual([expect.stringMatching(/^HOST, PORT: cannot listen on 192\.0\.2\.7:0/)])
  })

  test('with an invalid host name for the metrics port', async () => {
    // A host name that is longer than a DNS label may be.
    const more = { METRICS_HOST: 'a'.repeat(64), METRICS_PORT: '9090' }
    const lines = await refusedStart(on(await scratch(), more))
    expect(lines).toEqual([
      expect.stringMatching(/^METRICS_HOST, METRICS_PORT: cannot listen on a{64}:9090 \(E/),
    ])
  })
})
