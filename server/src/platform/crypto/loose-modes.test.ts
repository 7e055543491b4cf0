/** Tests the check for files that every account on the machine can access: a warning, or an error in strict mode. */
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Logger } from '../observe/log.ts'
import { refuseLooseModes } from './loose-modes.ts'

async function warningsAt(mode: number, isStrict = false): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'wardkeep-modes-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await chmod(folder, mode)
  const warned: string[] = []
  const log = { warn: (_: unknown, text: string) => void warned.push(text) } as unknown as Logger
  await refuseLooseModes({ DATA_DIR: folder, ENCRYPTION_KEY_FILE: undefined }, isStrict, log)
  return warned
}

test.each([0o700, 0o711, 0o750, 0o770, 0o600])(
  'the check of key files accepts the file mode %o',
  async (mode) => {
    expect(await warningsAt(mode, true)).toEqual([])
  },
)

test.each([0o755, 0o704, 0o702, 0o777])(
  'the check of key files warns about or rejects the file mode %o',
  async (mode) => {
    expect(await warningsAt(mode)).toEqual([expect.stringMatching(/^DATA_DIR: .*chmod o-rw /)])
    await expect(warningsAt(mode, true)).rejects.toThrow(/^DATA_DIR: /)
  },
)

test('the check of key files ignores a file that does not exist', async () => {
  const log = { warn: () => expect.unreachable() } as unknown as Logger
  await refuseLooseModes({ DATA_DIR: join(tmpdir(), 'wardkeep-none-here') }, true, log)
})
