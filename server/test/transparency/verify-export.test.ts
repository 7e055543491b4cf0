/** Exports and databases that were tampered with for real: each kind of tampering is found, at its place. */
import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { itemFrom, verifyExport } from '../../src/features/audit/offline/index.ts'
import { anchorLogs } from '../../src/features/audit/transparency/anchors.ts'
import { writeCheckpoint } from '../../src/lib/merkle/checkpoint.ts'
import { sealAll } from '../support/sealing.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, type Service } from '../support/service.ts'
import { type LogScene, openLogScene } from './scene.ts'

/** Entries of the log, so that it has two levels of tiles and a partial tile. */
const ENTRIES = 600

let service: Service
let scene: LogScene
let file: string
let folder: string
let head: string

beforeAll(async () => {
  service = await openService()
  scene = await openLogScene(service)
  await scene.grow(300)
  head = await scene.keepHead('head')
  await scene.grow(300)
  file = await scene.export('log.jsonl')
  folder = await scene.export('folder')
})

type Line = Record<string, any>

/** Returns a copy of the exported file with other lines. */
async function edited(edit: (lines: Line[]) => Line[]): Promise<string> {
  const lines = (await readFile(file, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  const copy = path.join(scene.folder, 'edited.jsonl')
  await writeFile(
    copy,
    edit(lines)
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(''),
  )
  return copy
}

const at = (lines: Line[], index: number): Line =>
  lines.find((line) => line.index === index) as Line
/** Returns a copy of the exported file with other fields of one entry. */
const changed = (index: number, fields: Line) =>
  edited((lines) => {
    Object.assign(at(lines, index), fields)
    return lines
  })
const place = async (kind: string, index: number) => ({
  kind,
  index,
  entry_id: await scene.entryAt(index),
})

describe('an exported log', () => {
  test('is intact, as a file, as a folder, and compared with an older head', async () => {
    for (const target of [file, folder]) {
      expect(await scene.findingsIn(target)).toEqual([])
      expect(await scene.findingsIn(target, { heads: [head] })).toEqual([])
    }
    const report = await verifyExport(file, { heads: [head], keys: [] })
    expect(report.logs).toMatchObject([{ tenant_id: scene.clinic.id, first: 0, heads: 2 }])
    expect(report.logs[0]?.size).toBeGreaterThan(ENTRIES)
    expect(report.notes).toEqual([expect.stringContaining('pass --key')])
  })

  test('has an entry that was changed, in a personal field or another one', async () => {
    for (const change of [
      { user_email: 'somebody@else.test' },
      { action: 'user.blocked' },
      { changes: null },
    ]) {
      const copy = await changed(300, change)
      expect(await scene.findingsIn(copy)).toEqual([await place('changed', 300)])
    }
  })

  test('has a line that was removed', async () => {
    const copy = await edited((lines) => lines.filter(({ index }) => index !== 257))
    expect(await scene.findingsIn(copy)).toEqual([{ kind: 'removed', index: 257, entry_id: null }])
  })

  test('has an entry that was inserted', async () => {
    const who_salt = Buffer.alloc(32, 9).toString('base64')
    const forged = { id: 999_999_999, action: 'user.blocked', who_salt }
    const copy = await edited((lines) =>
      lines.flatMap((line) => (line.index === 20 ? [line, { ...line, ...forged }] : [line])),
    )
    expect(await scene.findingsIn(copy)).toEqual([
      { kind: 'inserted', index: 20, entry_id: 999_999_999 },
    ])
  })

  test('has lines in another order, or entries that changed their places', async () => {
    const swapped = await edited((lines) => {
      const [a, b] = [lines.indexOf(at(lines, 40)), lines.indexOf(at(lines, 41))]
      ;[lines[a], lines[b]] = [lines[b] as Line, lines[a] as Line]
      return lines
    })
    expect(await scene.findingsIn(swapped)).toEqual([await place('reordered', 40)])
    const renumbered = await edited((lines) => {
      const [a, b] = [at(lines, 40), at(lines, 500)]
      ;[a.index, b.index] = [500, 40]
      return lines
    })
    const kinds = (await scene.findingsIn(renumbered)) as { kind: string }[]
    expect(new Set(kinds.map(({ kind }) => kind))).toEqual(new Set(['reordered']))
  })

  test('has the salt of another entry', async () => {
    const copy = await edited((lines) => {
      at(lines, 400).who_salt = at(lines, 100).who_salt
      return lines
    })
    expect(await scene.findingsIn(copy)).toContainEqual(await place('copied', 400))
  })

  test('has fields that were erased, or a beginning that was pruned', async () => {
    const gone = { user_email: null, who_salt: null, what_salt: null, changes: null }
    const erased = await changed(10, gone)
    expect(await scene.findingsIn(erased)).toEqual([await place('erased', 10)])
    const pruned = await edited((lines) => lines.filter(({ index }) => !(index < 270)))
    expect(await scene.findingsIn(pruned)).toEqual([{ kind: 'pruned', index: 0, entry_id: null }])
  })

  test('was rewritten with its hashes, which no signed head confirms', async () => {
    const copy = await edited((lines) => {
      const entry = Object.assign(at(lines, 300), { action: 'user.blocked' })
      const tile = lines.find(({ first }) => first === 256) as Line
      const hashes = Buffer.from(tile.hashes, 'base64')
      const salts = [entry.who_salt, entry.what_salt].map((salt) => Buffer.from(salt, 'base64'))
      const [who, what] = salts as [Buffer, Buffer]
      itemFrom(entry as Parameters<typeof itemFrom>[0], {
        who_salt: who,
        what_salt: what,
        who: null,
        what: null,
        mark: entry.mark,
      }).hash?.copy(hashes, (300 - 256) * 32)
      return lines.map((line) =>
        line === tile ? { ...tile, hashes: hashes.toString('base64') } : line,
      )
    })
    expect(await scene.findingsIn(copy, { heads: [head] })).toEqual([
      { kind: 'forked', index: null, entry_id: null },
      { kind: 'forked', index: null, entry_id: null },
    ])
  })

  test('is older than a kept head', async () => {
    await scene.grow(1)
    const newer = await scene.keepHead('newer')
    for (const target of [file, folder])
      expect(await scene.findingsIn(target, { heads: [newer] })).toEqual([
        { kind: 'rolled_back', index: null, entry_id: null },
      ])
  })

  test('has an entry that the service did not write', async () => {
    const copy = await changed(5, { mark: 'bad' })
    expect(await scene.findingsIn(copy)).toContainEqual(await place('not_written_by_service', 5))
  })

  test('notes an entry whose time is far from that of its neighbors', async () => {
    const copy = await changed(7, { created_at: '2020-01-01T00:00:00.000Z' })
    const { notes } = await verifyExport(copy, { heads: [], keys: [await scene.key()] })
    expect(notes).toEqual([expect.stringContaining('at index 7 is late')])
  })
})

test('an export of a range of time leads to the signed head of the whole log', async () => {
  const { sql } = service.database
  const [bounds] = await sql<{ from: string; to: string; first: number; end: number }>(
    `select min(created_at) as from, max(created_at) as to, min(index)::int as first, max(index)::int + 1 as end
     from audit_leaves where tenant_id = $1 and index between 10 and 305`,
    [scene.clinic.id],
  )
  const iso = (time: unknown) => new Date(time as string).toISOString()
  const part = await scene.export('part.jsonl', { from: iso(bounds?.from), to: iso(bounds?.to) })
  const { logs, findings, unchecked } = await verifyExport(part, {
    heads: [],
    keys: [await scene.key()],
  })
  expect([findings, unchecked]).toEqual([[], []])
  const [log] = logs
  expect(log?.first).toBeLessThanOrEqual(10)
  expect(log?.end).toBeGreaterThanOrEqual(306)
  expect(log?.end).toBeLessThan(log?.size as number)
  const text = await readFile(part, 'utf8')
  await writeFile(part, text.replace('"N1"', '"X1"'))
  expect(await scene.findingsIn(part)).toMatchObject([{ kind: 'changed' }])
})

describe('an exported folder', () => {
  async function copied(name: string): Promise<string> {
    const copy = path.join(scene.folder, name)
    await cp(folder, copy, { recursive: true })
    return copy
  }
  async function flip(target: string, byte: number): Promise<void> {
    const bytes = await readFile(target)
    bytes[byte] = (bytes[byte] ?? 0) ^ 1
    await writeFile(target, bytes)
  }

  test('has an entry or a personal field that was changed', async () => {
    const entries = await copied('entries')
    await flip(path.join(entries, 'tile/entries/001'), 20)
    expect(await scene.findingsIn(entries)).toMatchObject([{ kind: 'changed', index: 256 }])
    const personal = await copied('personal')
    const target = path.join(personal, 'personal.jsonl')
    await writeFile(target, (await readFile(target, 'utf8')).replace('"N7"', '"N8"'))
    expect(await scene.findingsIn(personal)).toMatchObject([{ kind: 'changed' }])
  })

  test('has a tile that its leaves do not give', async () => {
    const copy = await copied('tiles')
    await flip(path.join(copy, 'tile/1/000.p/2'), 0)
    expect(await scene.findingsIn(copy)).toEqual([{ kind: 'changed', index: null, entry_id: null }])
  })

  test('lacks a file, so it cannot be checked', async () => {
    for (const name of ['tile/0/000', 'tile/1/000.p/2', 'tile/entries/001', 'checkpoint']) {
      const copy = await copied(`without-${name.replaceAll('/', '-')}`)
      await rm(path.join(copy, name))
      const verified = verifyExport(copy, { heads: [], keys: [await scene.key()] })
      const reasons = await verified.then(
        ({ unchecked }) => unchecked,
        (error: Error) => [error.message],
      )
      expect(reasons).toEqual([expect.stringContaining(path.basename(name))])
    }
  })
})

describe('the log in the database', () => {
  beforeEach(async () => {
    scene = await openLogScene(service)
    await scene.grow(600)
  })

  test('is intact, and stays as it was', async () => {
    const rows = () => service.database.sql('select * from audit_logs order by tenant_id')
    const before = await rows()
    expect(await scene.findingsInDatabase()).toEqual([])
    expect(await rows()).toEqual(before)
  })

  test('has an entry that was changed, or whose time was changed', async () => {
    const [a, b] = [await scene.entryAt(100), await scene.entryAt(300)]
    await scene.tamper(`update journal set user_email = 'somebody@else.test' where id = ${a}`)
    await scene.tamper(
      `update journal set created_at = created_at + interval '1 second' where id = ${b}`,
    )
    expect(await scene.findingsInDatabase()).toEqual([
      await place('changed', 100),
      await place('changed', 300),
    ])
  })

  test('has an entry that was removed, also together with its leaf', async () => {
    const [a, b] = [await scene.entryAt(100), await scene.entryAt(300)]
    await scene.tamper(`delete from journal where id = ${a} or id = ${b}`)
    await scene.tamper(`delete from audit_leaves where entry_id = ${b}`)
    expect(await scene.findingsInDatabase()).toEqual([
      { kind: 'removed', index: 100, entry_id: a },
      { kind: 'removed', index: 300, entry_id: null },
    ])
  })

  test('has an entry that was inserted behind the sealer', async () => {
    await scene.tamper(
      `insert into journal (xid, tenant_id, action, resource_type, created_at)
       select xid, tenant_id, 'user.blocked', 'user', created_at from journal where id = ${await scene.entryAt(0)}`,
    )
    const [found, ...others] = (await scene.findingsInDatabase()) as {
      kind: string
      index: number | null
    }[]
    expect([found?.kind, found?.index, others]).toEqual(['inserted', null, []])
  })

  test('has entries that changed their places', async () => {
    const [a, b] = [await scene.entryAt(100), await scene.entryAt(101)]
    await scene.tamper(
      `update audit_leaves set entry_id = ${a} + ${b} - entry_id,
         (created_at, who_salt, what_salt) = (select other.created_at, other.who_salt, other.what_salt
           from audit_leaves other where other.entry_id = ${a} + ${b} - audit_leaves.entry_id)
       where entry_id in (${a}, ${b})`,
    )
    expect(await scene.findingsInDatabase()).toEqual([
      { kind: 'reordered', index: 100, entry_id: b },
      { kind: 'reordered', index: 101, entry_id: a },
    ])
  })

  test('has tiles that were replaced with those of another history', async () => {
    const kept = await scene.keepHead('kept')
    await scene.tamper(
      `update audit_tiles set hashes = set_byte(hashes, 0, 255 - get_byte(hashes, 0))
       where tenant_id = ${scene.clinic.id} and level = 0 and index = 0`,
    )
    const found = (await scene.findingsInDatabase([kept])) as {
      kind: string
      index: number | null
    }[]
    expect(found.map(({ kind }) => kind).toSorted()).toEqual([
      'changed',
      'changed',
      'forked',
      'forked',
    ])
  })

  test('is older than a kept head after leaves were deleted', async () => {
    const kept = await scene.keepHead('before')
    await scene.tamper(
      `update audit_logs set size = size - 1, head_size = 0, head_root = null, checkpoint = null
       where tenant_id = ${scene.clinic.id}`,
    )
    expect(await scene.findingsInDatabase([kept])).toMatchObject([
      { kind: 'rolled_back' },
      { kind: 'inserted' },
      { kind: 'inserted' },
    ])
    await scene.tamper(`update audit_logs set size = size + 1 where tenant_id = ${scene.clinic.id}`)
  })

  test('is older than its last anchor, although no head was kept', async () => {
    await anchorLogs({ db: service.app.db, log: silentLog })
    await sealAll(service)
    expect(await scene.findingsInDatabase()).toEqual([])
    const resize = (by: number) =>
      scene.tamper(
        `update audit_logs set size = size + ${by}, head_size = 0, head_root = null, checkpoint = null
         where tenant_id = ${scene.clinic.id}`,
      )
    await resize(-1)
    expect(await scene.findingsInDatabase()).toContainEqual({
      kind: 'rolled_back',
      index: null,
      entry_id: null,
    })
    await resize(1)
  })

  test('has an entry that was inserted with the id of another one', async () => {
    const id = await scene.entryAt(20)
    await scene.tamper(
      `insert into journal (id, xid, created_at, tenant_id, action, resource_type)
       overriding system value select id, '3', now(), tenant_id, 'user.blocked', 'user' from journal where id = ${id}`,
    )
    expect(await scene.findingsInDatabase()).toContainEqual({
      kind: 'inserted',
      index: null,
      entry_id: id,
    })
    await scene.tamper(`delete from journal where id = ${id} and xid = '3'`)
    expect(await scene.findingsInDatabase()).toEqual([])
  })
})

test('a head of another log, or signed with another key, is not compared', async () => {
  const other = await openLogScene(service)
  await other.grow(1)
  const foreign = await other.keepHead('foreign')
  const { unchecked } = await verifyExport(file, { heads: [foreign], keys: [] })
  expect(unchecked).toEqual([expect.stringContaining('It is the head of another log')])
  const unsigned = `${head}-unsigned`
  const note = await readFile(head, 'utf8')
  const [origin = '', size] = note.split('\n')
  const forged = writeCheckpoint({ origin, size: Number(size) - 1, root: Buffer.alloc(32) })
  await writeFile(unsigned, forged + note.slice(note.indexOf('\n\n') + 1))
  const report = await verifyExport(file, { heads: [unsigned], keys: [] })
  expect(report.unchecked).toEqual([expect.stringContaining('The head is not signed with')])
})
