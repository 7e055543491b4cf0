/** The rows of tenants, their departments and their staff. */

import type { Value } from './copy.ts'
import { FAMILY, GIVEN } from './names.ts'
import { type Chance, chance } from './random.ts'
import { emailOf, PASSWORD_COST, type Size, subdomainOf } from './sizes.ts'

const DAY = 86_400_000
const DEPARTMENTS = ['Cardiology', 'Emergency', 'Intensive care', 'Paediatrics', 'Surgery']
/**
 * The number of auditors: the users after the admin, who read a tenant's lists. Several, as the service limits one
 * caller.
 */
export const AUDITORS = 16
const ROLES = ['doctor', 'doctor', 'doctor', 'nurse', 'nurse', 'nurse', 'nurse', 'receptionist']

/** The first id of seeded rows, well above those that the service created at its first start. */
const BASE = 1000
export const tenantId = (tenant: number) => BASE + tenant
export const userId = (size: Size, tenant: number, user: number) =>
  BASE + tenant * size.usersPerTenant + user
const departmentId = (tenant: number, department: number) =>
  BASE + tenant * DEPARTMENTS.length + department

/** The number of users who can sign in, all with one password. Users from this number on have unknown passwords. */
const SIGNING_IN = 100
const { memoryCost, timeCost, parallelism } = PASSWORD_COST
const base64 = (random: Chance, bytes: number) =>
  Buffer.from(random.hex(bytes), 'hex').toString('base64').replaceAll('=', '')
/** Returns a random salt and hash in the format of the service. */
const nobodysHash = (random: Chance) =>
  `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$${base64(random, 16)}$${base64(random, 32)}`

/** Returns the key of an ASCII name, as the service folds it. */
const nameKey = (name: string) =>
  `${name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, ' ')
    .trim()}\u0001${name}`

const someDay = (random: Chance, now: number) =>
  new Date(now - random.below(1000 * DAY)).toISOString()

export const TENANT_COLUMNS = ['id', 'name', 'subdomain', 'created_at']
export function* tenantRows({ tenants }: Size, now: number): Generator<Value[]> {
  const random = chance(1)
  for (let tenant = 0; tenant < tenants; tenant += 1)
    yield [tenantId(tenant), `Clinic ${tenant}`, subdomainOf(tenant), someDay(random, now)]
}

export const DEPARTMENT_COLUMNS = ['id', 'tenant_id', 'name', 'name_key', 'is_folded']
export function* departmentRows({ tenants }: Size): Generator<Value[]> {
  for (let tenant = 0; tenant < tenants; tenant += 1)
    for (const [index, name] of DEPARTMENTS.entries())
      yield [departmentId(tenant, index), tenantId(tenant), name, nameKey(name), true]
}

export const USER_COLUMNS = [
  'id',
  'tenant_id',
  'email',
  'full_name',
  'name_key',
  'is_folded',
  'role',
  'department_id',
  'is_active',
  'password_hash',
  'email_verified_at',
  'created_at',
]
export function* userRows(size: Size, hash: string, now: number): Generator<Value[]> {
  const random = chance(2)
  for (let tenant = 0; tenant < size.tenants; tenant += 1)
    for (let user = 0; user < size.usersPerTenant; user += 1) {
      const created = someDay(random, now)
      const name = `${random.pick(GIVEN)} ${random.pick(FAMILY)}`
      yield [
        userId(size, tenant, user),
        tenantId(tenant),
        emailOf(tenant, user),
        name,
        nameKey(name),
        true,
        user === 0 ? 'admin' : user <= AUDITORS ? 'auditor' : random.pick(ROLES),
        user === 0 ? null : departmentId(tenant, random.below(DEPARTMENTS.length)),
        // Some of the users who cannot sign in are blocked.
        user < SIGNING_IN || random.below(50) > 0,
        user < SIGNING_IN ? hash : nobodysHash(random),
        created,
        created,
      ]
    }
}
