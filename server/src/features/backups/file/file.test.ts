/** Tests that a written backup file can be read again, and that an incomplete or forged one is rejected. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { keysFrom } from '../../../platform/crypto/index.ts'
import { encrypt, UnreadableFile } from './age.ts'
import { FORMAT, type Header, PART_BYTES } from './format.ts'
import { type BackupKeys, openBackupKeys } from './identity.ts'
import { readBackup } from './read.ts'
import { writeBackup } from './write.ts'

const ROOT = randomBytes(32)

let backupKeys: BackupKeys
beforeAll(async () => {
  backupKeys = await openBackupKeys([keysFrom(ROOT)], [])
})

const headerOf = (...tables: string[]): Header => ({
  format: FORMAT,
  backup_id: 'b1',
  installation: 'i1',
  type: 'full',
  tenant_id: null,
  created_at: '2026-11-21T12:00:00.000Z',
  schema_version: 12,
  migrations: [{ version: 12, checksum: 'c' }],
  keys: { key_encryption_keys: [1], data_keys: [2] },
  tables: tables.map((name) => ({ name, columns: ['id', 'name'] })),
})

async function* pieces(bytes: Uint8Array, size = 50_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const rowsOf = (count: number, width: number) =>
  Buffer.from(Array.from({ length: count }, (_, id) => `${id}\t${'x'.repeat(width)}\n`).join(''))

const TABLES: Record<string, Buffer> = {
  tenants: rowsOf(3, 10),
  empty: Buffer.alloc(0),
  // Spans more than two part files. One row alone is longer than a part file.
  users: Buffer.concat([rowsOf(20_000, 900), rowsOf(1, PART_BYTES + 5), rowsOf(10, 3)]),
}

async function written(by = backupKeys): Promise<{ file: Buffer; parts: number[] }> {
  const parts: number[] = []
  const source = {
    header: headerOf(...Object.keys(TABLES)),
    rows: (table: string) => pieces(TABLES[table] as Buffer),
  }
  const file = await Array.fromAsync(writeBackup(source, by, (rows) => void parts.push(rows)))
  return { file: Buffer.concat(file), parts }
}

async function readAgain(file: Uint8Array, by = backupKeys) {
  const tables: Record<string, Buffer[]> = {}
  const rows = (table: string, part: Buffer) => {
    tables[table] = [...(tables[table] ?? []), part]
  }
  const result = await readBackup(pieces(file), by, { rows })
  return { ...result, tables }
}

test('the backup reader returns the header, rows and counts that were written', async () => {
  const { file, parts } = await written()
  const { header, manifest, tables } = await readAgain(file)
  expect(header).toEqual(headerOf(...Object.keys(TABLES)))
  for (const [name, rows] of Object.entries(TABLES))
    expect(Buffer.concat(tables[name] ?? []).equals(rows)).toBe(true)
  expect(manifest.tables.users).toMatchObject({ rows: 20_011, bytes: TABLES.users?.length })
  expect(manifest.tables.empty?.rows).toBe(0)
  expect(parts.reduce((sum, rows) => sum + rows, 0)).toBe(20_014)
})

test('the backup writer splits rows into parts only after complete rows', async () => {
  const { file } = await written()
  const { tables } = await readAgain(file)
  for (const part of tables.users ?? []) expect(part.at(-1)).toBe(10)
  expect(tables.users?.length).toBeGreaterThan(2)
})

describe('an untrusted or damaged file', () => {
  test('is rejected if it was created with another root key', async () => {
    const { file } = await written()
    const other = await openBackupKeys([keysFrom(randomBytes(32))], [])
    await expect(readAgain(file, other)).rejects.toThrow(UnreadableFile)
  })

  test('is rejected if it is signed with an unknown root key', async () => {
    const forger = await openBackupKeys([keysFrom(randomBytes(32))], backupKeys.recipients)
    const { file } = await written(forger)
    await expect(readAgain(file)).rejects.toThrow('was not created with this root key')
  })

  test.each([0.1, 0.5, 0.9, 0.9999])(
    'is rejected if it is truncated at %d of its size',
    async (share) => {
      const { file } = await written()
      const cut = file.subarray(0, Math.floor(file.length * share))
      await expect(readAgain(cut)).rejects.toThrow(UnreadableFile)
    },
  )

  test('is rejected if it is not a backup', async () => {
    const bytes = Buffer.concat(
      await Array.fromAsync(encrypt(pieces(randomBytes(1_000)), backupKeys.recipients)),
    )
    await expect(readAgain(bytes)).rejects.toThrow()
  })
})

test('the backup writer throws the error of the row source', async () => {
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield rowsOf(10, 10)
    throw new Error('the database went away')
  }
  const file = writeBackup(
    { header: headerOf('users'), rows: failing },
    backupKeys,
    () => undefined,
  )
  await expect(Array.fromAsync(file)).rejects.toThrow('the database went away')
})

const hasTools = (() => {
  try {
    return [
      ['age', '--version'],
      ['zstd', '--version'],
      ['tar', '--version'],
    ].every(
      ([program, argument]) => execFileSync(program as string, [argument as string]).length > 0,
    )
  } catch {
    return false
  }
})()

test.runIf(hasTools)('can be unpacked with age, zstd and tar, as its README says', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'wardkeep-backup-'))
  try {
    const [key, file] = [join(folder, 'identity.txt'), join(folder, 'b1.tar.zst.age')]
    await writeFile(key, `${backupKeys.identity}\n`)
    await writeFile(file, (await written()).file)
    execFileSync('sh', ['-c', `age -d -i "${key}" "${file}" | zstd -d | tar -x -C "${folder}"`])
    expect(await readFile(join(folder, 'README.txt'), 'utf8')).toContain('wardkeep backup identity')
    const data = join(folder, 'data/users')
    const parts = (await readdir(data)).sort().map((name) => readFile(join(data, name)))
    expect(Buffer.concat(await Promise.all(parts)).equals(TABLES.users as Buffer)).toBe(true)
  } finally {
    await rm(folder, { recursive: true })
  }
})
