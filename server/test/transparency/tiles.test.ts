/** Verifies whole logs over HTTP, as a client of static logs does that knows nothing but the C2SP specifications. */
import { createHash } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openNote, readVerifierKey } from '../../src/lib/signed-note.ts'
import { fresh } from '../sessions/users.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { sealAll } from '../support/sealing.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service
let root: Person
let clinic: Clinic

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
})

beforeEach(async () => {
  clinic = await makeClinic(service, root, fresh('tiled'))
  await sealAll(service)
})

const hash = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest()

/** Fetches a file of a log. */
async function fetchFile(path: string, tenantId = clinic.id, token = root.token) {
  const { statusCode, headers, rawPayload } = await service.app.server.inject({
    url: `/api/admin/audit/log/${tenantId}/${path}`,
    headers: { authorization: `Bearer ${token}` },
  })
  return { status: statusCode, headers, bytes: rawPayload }
}

async function tile(path: string, ...who: [tenantId?: number, token?: string]): Promise<Buffer> {
  const { status, bytes } = await fetchFile(`tile/${path}`, ...who)
  expect([path, status]).toEqual([path, 200])
  return bytes
}

/** Returns the path of an index: groups of three digits, all but the last after an `x`. */
function indexPath(index: number): string {
  const digits = String(index)
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/.{3}/g) ?? []
  return groups.map((group, at) => (at < groups.length - 1 ? `x${group}` : group)).join('/')
}

const pathOf = (level: number | 'entries', index: number, width: number): string =>
  `${level}/${indexPath(index)}${width === 256 ? '' : `.p/${width}`}`

/** Splits the hashes of a tile. */
const hashesIn = (bytes: Buffer): Buffer[] =>
  Array.from({ length: bytes.length / 32 }, (_, at) => bytes.subarray(at * 32, at * 32 + 32))

/** Splits the entries of a bundle, which stand after their lengths. */
function entriesIn(bytes: Buffer): Buffer[] {
  const entries: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + 2 + bytes.readUInt16BE(at)
    entries.push(bytes.subarray(at + 2, end))
    at = end
  }
  return entries
}

/** Computes the root of hashes (RFC 6962 §2.1). */
function merkleRoot(hashes: readonly Buffer[]): Buffer {
  if (hashes.length === 1) return hashes[0] as Buffer
  let half = 1
  while (half * 2 < hashes.length) half *= 2
  const [left, right] = [merkleRoot(hashes.slice(0, half)), merkleRoot(hashes.slice(half))]
  return hash(Buffer.of(1), left, right)
}

/** Fetches all tiles of a level, or all entry bundles. */
async function fetchLevel(level: number | 'entries', count: number, tenantId = clinic.id) {
  const tiles: Buffer[] = []
  for (let index = 0; index * 256 < count; index += 1)
    tiles.push(await tile(pathOf(level, index, Math.min(256, count - index * 256)), tenantId))
  return tiles
}

async function checkpointOf(tenantId = clinic.id) {
  const { bytes } = await fetchFile('checkpoint', tenantId)
  const [origin = '', size, encoded = ''] = bytes.toString().split('\n')
  return { note: bytes.toString(), origin, size: Number(size), root: encoded }
}

/** Adds entries and seals them. */
async function grow(count: number): Promise<void> {
  await service.database.sql(
    `insert into journal (tenant_id, action, resource_type)
     select $1, 'tenant.updated', 'tenant' from generate_series(1, $2::int)`,
    [clinic.id, count],
  )
  await sealAll(service)
}

describe('a log', () => {
  test('is verified from its signature to each entry with the files of C2SP tlog-tiles alone', async () => {
    await grow(700)
    const { note, origin, size, root: signed } = await checkpointOf()
    const { body } = await service.call('GET', '/api/admin/audit/heads', { token: root.token })
    const key = readVerifierKey(body.key)
    expect(key && openNote(note, key)).toBe(`${origin}\n${size}\n${signed}\n`)

    const bundles = await fetchLevel('entries', size)
    const contents = bundles.flatMap(entriesIn)
    const leaves = contents.map((content) => hash(Buffer.of(0), content))
    expect(merkleRoot(leaves).toString('base64')).toBe(signed)

    const tiles = await fetchLevel(0, size)
    expect(tiles.flatMap(hashesIn)).toEqual(leaves)
    const full = tiles.filter((bytes) => bytes.length === 256 * 32)
    expect(full).toHaveLength(2)
    const above = await fetchLevel(1, full.length)
    expect(above.flatMap(hashesIn)).toEqual(full.map((bytes) => merkleRoot(hashesIn(bytes))))

    const entries = contents.map((content) => JSON.parse(content.toString()))
    const stored = await service.database.sql<{ id: number }>(
      'select id from journal where tenant_id = $1 order by xid, id',
      [clinic.id],
    )
    expect(entries.map(({ id }) => id)).toEqual(stored.map(({ id }) => id))
    expect(Buffer.concat(contents).includes(root.email)).toBe(false)
  })

  test('keeps the tiles of earlier heads when it grows', async () => {
    const before = await checkpointOf()
    const path = pathOf(0, 0, before.size)
    const hashes = await tile(path)
    const entries = await tile(pathOf('entries', 0, before.size))
    await grow(300)
    expect(await tile(path)).toEqual(hashes)
    expect(await tile(pathOf('entries', 0, before.size))).toEqual(entries)
    expect((await checkpointOf()).size).toBe(before.size + 300)
    expect(merkleRoot(hashesIn(hashes)).toString('base64')).toBe(before.root)
  })

  test('of entries without a tenant is log 0, which only superadmins read', async () => {
    await service.database.sql(
      "insert into journal (action, resource_type) values ('auth.login_failed', 'user')",
    )
    await sealAll(service)
    const { size, root: signed, origin } = await checkpointOf(0)
    expect(origin).toMatch(/\/0\/1$/)
    const leaves = (await fetchLevel(0, size, 0)).flatMap(hashesIn)
    expect(merkleRoot(leaves).toString('base64')).toBe(signed)
    const { token } = clinic.people.auditor
    for (const path of ['checkpoint', 'tile/0/000.p/1', 'tile/entries/000.p/1'])
      expect(await fetchFile(path, 0, token)).toMatchObject({ status: 404 })
  })
})

describe('a file of a log', () => {
  test('is served to administrators and auditors of the tenant', async () => {
    const other = await makeClinic(service, root, fresh('other'))
    await sealAll(service)
    for (const { token } of [clinic.people.admin, clinic.people.auditor])
      for (const path of ['checkpoint', 'tile/0/000.p/1', 'tile/entries/000.p/1']) {
        expect(await fetchFile(path, clinic.id, token)).toMatchObject({ status: 200 })
        expect(await fetchFile(path, other.id, token)).toMatchObject({ status: 404 })
      }
    const { nurse } = clinic.people
    expect(await fetchFile('checkpoint', clinic.id, nurse.token)).toMatchObject({ status: 403 })
  })

  test('has the content type of the specification, and may be kept if it never changes', async () => {
    const { headers } = await fetchFile('checkpoint')
    expect(headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
    })
    for (const path of ['tile/0/000.p/1', 'tile/entries/000.p/1'])
      expect((await fetchFile(path)).headers).toMatchObject({
        'content-type': 'application/octet-stream',
        'cache-control': 'private, max-age=86400, immutable',
        vary: 'authorization',
      })
  })

  test('is also found if a client encodes the slashes of its path', async () => {
    expect(await tile('0%2F000.p%2F1')).toEqual(await tile('0/000.p/1'))
  })

  test('is not found beyond the end of the log', async () => {
    const { size } = await checkpointOf()
    for (const path of [
      pathOf(0, 0, size + 1),
      pathOf('entries', 0, size + 1),
      '0/000',
      'entries/000',
      '0/001.p/1',
      '1/000.p/1',
      '63/x001/x234/x567/000',
      'entries/x999/x999/x999/x999/999',
    ])
      expect([path, (await fetchFile(`tile/${path}`)).status]).toEqual([path, 404])
  })

  test.each([
    '0',
    '0/0',
    '0/0000',
    '00/000',
    '64/000',
    '-1/000',
    '0/x000/001',
    '0/001/002',
    '0/x001',
    '0/000.p/0',
    '0/000.p/01',
    '0/000.p/256',
    '0/000.p/',
    'entries',
    'entries/000/%2e%2e/001',
    'Entries/000',
    '0/٠٠٠',
    '0/000\n',
    '0/x001/x001/x001/x001/x001/001',
  ])('is refused with a path that the specification does not allow: %j', async (path) => {
    const encoded = encodeURIComponent(path).replaceAll('%2F', '/')
    const { status } = await fetchFile(`tile/${encoded}`)
    expect(status).toBe(422)
  })

  test('has no entries once one of them was changed or removed in the database', async () => {
    await grow(3)
    const { size } = await checkpointOf()
    const path = `tile/${pathOf('entries', 0, size)}`
    expect(await fetchFile(path)).toMatchObject({ status: 200 })
    for (const change of ["update journal set action = 'tenant.created'", 'delete from journal']) {
      await service.database.sql(
        `do $$ begin
           set local session_replication_role = replica;
           ${change} where id = (select max(id) from journal where tenant_id = ${clinic.id});
         end $$`,
      )
      const { status, bytes } = await fetchFile(path)
      expect(status).toBe(409)
      expect(JSON.parse(bytes.toString())).toMatchObject({ code: 'audit_log_altered' })
      // The entries before it are not affected.
      expect(await fetchFile(`tile/${pathOf('entries', 0, size - 1)}`)).toMatchObject({
        status: 200,
      })
    }
  })
})
