/** What the embedded server refuses, and in which words. */
import { spawnSync } from 'node:child_process'
import { access, chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, type TestContext, test } from 'vitest'
import { query, service, started } from '../../../../test/support/embedded.ts'
import { isRoot, nobodyLeft } from '../../../../test/support/processes.ts'
import { scratch } from '../../../../test/support/scratch.ts'
import { until } from '../../../../test/support/until.ts'
import { StartupError } from '../../../lib/startup-error.ts'

/** The lines of the fault that a start on the folder ends with. */
async function refusal(dataDir: string): Promise<readonly string[]> {
  const error = await started(dataDir).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof StartupError)) throw new Error('no StartupError', { cause: error })
  await nobodyLeft(dataDir)
  return error.lines
}

/** A file system of the test's own, where the machine allows one. */
function mounted(context: TestContext, path: string, options: string): void {
  const done = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path])
  if (done.status !== 0) context.skip('mounting takes root and its rights')
  onTestFinished(async () => {
    await until('the file system is free', () =>
      spawnSync('umount', [path]).status === 0 ? true : undefined,
    )
  })
}

describe('one service for a folder', () => {
  test('a second one is refused by the name of the first, which goes on', async () => {
    const dataDir = await scratch()
    const server = await started(dataDir)
    const second = service(dataDir)
    const [line] = await second.first<string[]>('fault')
    expect(line).toContain(`process ${process.pid}, `)
    expect(line).toContain(dataDir)
    expect(line).toMatch(
      /started \d{4}-.*: stop it first, or give this one a DATA_DIR of its own\.$/,
    )
    expect(await second.ended).toBe(3)
    await expect(started(dataDir)).rejects.toThrow(`process ${process.pid}, `)
    expect(await query(server.connection, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  test('of several that start at once exactly one wins', { timeout: 60_000 }, async () => {
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
  test('of another major version is refused with the way to upgrade', async () => {
    const dataDir = await scratch()
    await (await started(dataDir)).stop()
    await writeFile(join(dataDir, 'postgres', 'PG_VERSION'), '17\n')
    const lines = await refusal(dataDir)
    expect(lines[0]).toContain(
      'is of PostgreSQL 17, and this release of Wardkeep runs PostgreSQL 18.',
    )
    expect(lines[1]).toMatch(/start the earlier release.*take a backup.*restore.*new DATA_DIR/)
    expect(await readFile(join(dataDir, 'postgres', 'PG_VERSION'), 'utf8')).toBe('17\n')
  })

  test('with something else in the place of the cluster is refused and left alone', async () => {
    const dataDir = await scratch()
    await mkdir(join(dataDir, 'postgres'))
    await writeFile(join(dataDir, 'postgres', 'thesis.txt'), 'only copy')
    if (isRoot) spawnSync('chown', ['-R', 'nobody', join(dataDir, 'postgres')])
    expect((await refusal(dataDir)).join()).toContain(
      'is not a PostgreSQL database: move it out of the way',
    )
    await access(join(dataDir, 'postgres', 'thesis.txt'))
  })

  test('that is a file is refused', async () => {
    const file = join(await scratch(), 'data')
    await writeFile(file, '')
    expect((await refusal(file)).join()).toContain('a file is in its place')
    expect((await refusal(join(file, 'below'))).join()).toContain('a file is in its place')
  })

  test.runIf(isRoot)(
    'that the server account cannot reach is refused with the wall named',
    async () => {
      const wall = await scratch()
      await chmod(wall, 0o700)
      const [line] = await refusal(join(wall, 'inner', 'data'))
      expect(line).toContain(`is inside ${wall}, which the account "`)
      expect(line).toContain('set DATA_DIR to a folder outside of it')
    },
  )

  test.skipIf(isRoot)('that the account may not write is refused', async () => {
    const dataDir = await scratch()
    await chmod(dataDir, 0o500)
    expect((await refusal(dataDir)).join()).toContain(`can't be written by the account`)
    await chmod(dataDir, 0o700)
  })

  test('on a full disk is refused in one sentence, at the first start and at a later one', async (context) => {
    const dataDir = await scratch()
    mounted(context, dataDir, 'size=24m,mode=0711')
    expect(await refusal(dataDir)).toEqual([
      expect.stringMatching(
        /^The disk of the data folder .* is full: free some space on it, then start again\.$/,
      ),
    ])
    spawnSync('mount', ['-o', 'remount,size=96m', dataDir])
    await (await started(dataDir)).stop()
    spawnSync('dd', ['if=/dev/zero', `of=${join(dataDir, 'ballast')}`, 'bs=4k'])
    expect(await refusal(dataDir)).toEqual([expect.stringContaining('is full: free some space')])
    spawnSync('rm', [join(dataDir, 'ballast')])
    await (await started(dataDir)).stop()
  })

  test('on a read-only file system is refused', async (context) => {
    const dataDir = await scratch()
    mounted(context, dataDir, 'size=1m,ro')
    expect((await refusal(dataDir)).join()).toContain('is on a read-only file system')
  })
})
