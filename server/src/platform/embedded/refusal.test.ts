/** Tests startups that the embedded server refuses, and the error messages. */
import { spawnSync } from 'node:child_process'
import { access, chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, type TestContext, test } from 'vitest'
import { query, service, started } from '../../../test/support/embedded.ts'
import { isRoot, nobodyLeft } from '../../../test/support/processes.ts'
import { scratch } from '../../../test/support/scratch.ts'
import { until } from '../../../test/support/until.ts'
import { StartupError } from '../../lib/startup-error.ts'

/** Starts the server on the folder, which must fail. Returns the lines of the error message. */
async function refusal(dataDir: string): Promise<readonly string[]> {
  const error = await started(dataDir).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof StartupError)) throw new Error('no StartupError', { cause: error })
  await nobodyLeft(dataDir)
  return error.lines
}

/** Mounts a temporary file system, if the machine allows it. */
function mounted(context: TestContext, path: string, options: string): void {
  const done = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path])
  if (done.status !== 0) context.skip('needs root with the right to mount file systems')
  onTestFinished(async () => {
    await until('the file system is free', () =>
      spawnSync('umount', [path]).status === 0 ? true : undefined,
    )
  })
}

describe('the lock of a data folder', () => {
  test('refuses a second service, names the first service, and does not disturb it', async () => {
    const dataDir = await scratch()
    const server = await started(dataDir)
    const second = service(dataDir)
    const [line] = await second.first<string[]>('fault')
    expect(line).toContain(`process ${process.pid}, `)
    expect(line).toContain(dataDir)
    expect(line).toMatch(/started \d{4}-.*\. Stop it first, or set DATA_DIR to another folder\.$/)
    expect(await second.ended).toBe(3)
    await expect(started(dataDir)).rejects.toThrow(`process ${process.pid}, `)
    expect(await query(server.connection, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  test('admits exactly one of several concurrent services', { timeout: 60_000 }, async () => {
    const dataDir = await scratch()
    for (let round = 0; round < 3; round++) {
      const all = Array.from({ length: 4 }, () => service(dataDir))
      const results = await Promise.all(
        all.map((each) =>
          until(
            'it is ready or refused',
            () => each.said('ready')[0] ?? each.said<string[]>('fault')[0],
          ),
        ),
      )
      const winners = all.filter((each) => each.said('ready').length === 1)
      expect(winners).toHaveLength(1)
      const refused = results.filter((result) => Array.isArray(result))
      expect(refused).toHaveLength(3)
      for (const lines of refused) expect(lines[0]).toContain(`process ${winners[0]?.pid}, `)
      winners[0]?.kill()
      await winners[0]?.ended
    }
  })
})

describe('a data folder', () => {
  test('is refused if its PostgreSQL major version differs, with instructions to upgrade', async () => {
    const dataDir = await scratch()
    await (await started(dataDir)).stop()
    await writeFile(join(dataDir, 'postgres', 'PG_VERSION'), '17\n')
    const lines = await refusal(dataDir)
    expect(lines[0]).toContain(
      'was created with PostgreSQL 17, but this release of Wardkeep uses PostgreSQL 18.',
    )
    expect(lines[1]).toMatch(/start the previous release.*create a backup.*restore.*new DATA_DIR/)
    expect(await readFile(join(dataDir, 'postgres', 'PG_VERSION'), 'utf8')).toBe('17\n')
  })

  test('is refused and left unchanged if it contains other files instead of a cluster', async () => {
    const dataDir = await scratch()
    await mkdir(join(dataDir, 'postgres'))
    await writeFile(join(dataDir, 'postgres', 'thesis.txt'), 'only copy')
    if (isRoot) spawnSync('chown', ['-R', 'nobody', join(dataDir, 'postgres')])
    expect((await refusal(dataDir)).join()).toContain('is not a PostgreSQL database. Move it away')
    await access(join(dataDir, 'postgres', 'thesis.txt'))
  })

  test('is refused if it is a file', async () => {
    const file = join(await scratch(), 'data')
    await writeFile(file, '')
    expect((await refusal(file)).join()).toContain('a file with this name exists')
    expect((await refusal(join(file, 'below'))).join()).toContain('a file with this name exists')
  })

  test.runIf(isRoot)(
    'is refused if the server account cannot access a parent folder, and the message names that folder',
    async () => {
      const wall = await scratch()
      await chmod(wall, 0o700)
      const [line] = await refusal(join(wall, 'inner', 'data'))
      expect(line).toContain(`is inside ${wall}, which the account "`)
      expect(line).toContain('Set DATA_DIR to a folder outside of it')
    },
  )

  test.skipIf(isRoot)('is refused if the server account cannot write to it', async () => {
    const dataDir = await scratch()
    await chmod(dataDir, 0o500)
    expect((await refusal(dataDir)).join()).toContain('cannot write to the data folder')
    await chmod(dataDir, 0o700)
  })

  test('is refused on a full disk with a one-line message, at the first and at a later start', async (context) => {
    const dataDir = await scratch()
    mounted(context, dataDir, 'size=24m,mode=0711')
    expect(await refusal(dataDir)).toEqual([
      expect.stringMatching(
        /^The disk of the data folder .* is full\. Free some space, then start again\.$/,
      ),
    ])
    spawnSync('mount', ['-o', 'remount,size=96m', dataDir])
    await (await started(dataDir)).stop()
    spawnSync('dd', ['if=/dev/zero', `of=${join(dataDir, 'ballast')}`, 'bs=4k'])
    expect(await refusal(dataDir)).toEqual([expect.stringContaining('is full. Free some space')])
    spawnSync('rm', [join(dataDir, 'ballast')])
    await (await started(dataDir)).stop()
  })

  test('is refused on a read-only file system', async (context) => {
    const dataDir = await scratch()
    mounted(context, dataDir, 'size=1m,ro')
    expect((await refusal(dataDir)).join()).toContain('is on a read-only file system')
  })
})
