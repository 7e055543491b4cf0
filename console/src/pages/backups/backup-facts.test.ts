import { expect, it } from 'vitest'
import { type Backup, proofsOf } from './backup-facts.ts'

const ADDED = '2026-11-10T08:00:00.000Z'

const backup = (day: number, fields: Partial<Backup>): Backup => ({
  backup_id: `b0c5a7f4-6f0e-4b5c-9a53-2f7f2f1f0c${day}`,
  type: 'tenant',
  tenant_id: 2,
  status: 'completed',
  size_bytes: 1,
  sha256: null,
  records: 5,
  created_at: `2026-11-${day}T10:00:00.000Z`,
  created_by: null,
  schema_version: 36,
  reason: 'request',
  verified_at: `2026-11-${day}T11:00:00.000Z`,
  drill_seconds: null,
  tested_at: null,
  tested_by: null,
  tested_by_name: null,
  tested_records: null,
  locked_until: null,
  rewritten_at: null,
  error: null,
  ...fields,
})
const full = { type: 'full', tenant_id: null } as const
const own = backup(14, {})
const tested = { ...full, drill_seconds: 41, tested_at: '2026-11-12T12:00:00.000Z' } as const

it("proves a clinic by a test of all clinics, which the clinic's own list does not contain", () => {
  const { created_at, verified_at, drill_seconds, tested_at } = backup(12, tested)
  const full_backup = { created_at, verified_at, drill_seconds, tested_at }
  expect(proofsOf({ items: [own], full_backup })).toEqual([{ ...full_backup, type: 'full' }, own])
  expect(proofsOf({ items: [own], full_backup: null })).toEqual([own])
})

it('ignores a backup of all clinics that was made before the clinic was added', () => {
  const [older, newer] = [backup(9, tested), backup(12, tested)] as [Backup, Backup]
  expect(proofsOf({ items: [own, older], full_backup: null }, ADDED)).toEqual([own])
  expect(proofsOf({ items: [own, newer], full_backup: null }, ADDED)).toEqual([newer, own])
  expect(proofsOf({ items: [newer], full_backup: null })).toEqual([])
})

it('ignores failed and faulty backups, and an untested backup older than the tested one', () => {
  const faulty = backup(16, { ...tested, error: 'The file could not be read completely' })
  const items = [faulty, backup(15, { status: 'failed' }), backup(12, tested), backup(11, {})]
  expect(proofsOf({ items, full_backup: null }, ADDED)).toEqual([items[2]])
})
