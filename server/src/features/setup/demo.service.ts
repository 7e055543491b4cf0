/** Creates the demo clinic: three departments, users of every role and 200 synthetic patients (decisions §11). */
import { isoAt } from '../../lib/clock.ts'
import type { Role } from '../../lib/roles.ts'
import type { KeyRing, Passwords } from '../../platform/crypto/index.ts'
import { lockUntilEnd, type Scopes, type TenantTx } from '../../platform/db/index.ts'
import { append, SYSTEM } from '../../platform/journal/index.ts'
import { insertDepartment } from '../departments/index.ts'
import { insertPatients } from '../patients/index.ts'
import { insertTenant, tenantEntry } from '../tenants/index.ts'
import { insertUser } from '../users/index.ts'
import { DEMO_SUBDOMAIN, isDemoDone } from './demo.store.ts'
import { demoPatient } from './demo-patients.ts'

/** The demo's public password. Production never creates a demo. */
export const DEMO_PASSWORD = 'try-Wardkeep-26'

const DEPARTMENTS = ['Cardiology', 'Paediatrics', 'Radiology'] as const
const PATIENTS = 200

/** The users of the demo. The number is the index of the user's department. */
const PEOPLE: readonly (readonly [
  local: string,
  name: string,
  role: Role,
  department: number | null,
])[] = [
  ['admin', 'Ada Ministra', 'admin', null],
  ['doctor', 'Dora Herz', 'doctor', 0],
  ['doctor2', 'Karl Kinder', 'doctor', 1],
  ['nurse', 'Nora Pfleger', 'nurse', 0],
  ['receptionist', 'Rita Empfang', 'receptionist', 0],
  ['auditor', 'Otto Prüfer', 'auditor', null],
]

export const DEMO_ACCOUNTS = PEOPLE.map(([local, full_name, role]) => ({
  email: `${local}@demo.local`,
  full_name,
  role,
}))

export const DEMO = {
  subdomain: DEMO_SUBDOMAIN,
  password: DEMO_PASSWORD,
  people: DEMO_ACCOUNTS,
}

export interface DemoDeps {
  db: Scopes
  passwords: Passwords
  keyRing: KeyRing
}

/** Creates the demo tenant, unless a demo exists or was deleted earlier. Returns whether a demo was created. */
export async function makeDemo({ db, passwords, keyRing }: DemoDeps): Promise<boolean> {
  if (await db.acrossTenants(isDemoDone, 'read')) return false
  const hashes = await Promise.all(PEOPLE.map(() => passwords.hash(DEMO_PASSWORD, 'setup')))
  return db.acrossTenants(async (tx) => {
    await lockUntilEnd(tx, 'setup')
    if (await isDemoDone(tx)) return false
    const tenant = await insertTenant(tx, {
      name: 'Demo clinic',
      subdomain: DEMO_SUBDOMAIN,
      settings: { registration: 'open' },
      is_demo: true,
    })
    await fill(tx, keyRing, tenant.id, { hashes, verifiedAt: isoAt(db.clock) })
    await append(tx, SYSTEM, {
      ...tenantEntry('tenant.created', tenant.id),
      changes: { demo: true, users: PEOPLE.length, patients: PATIENTS },
    })
    return true
  })
}

async function fill(
  tx: TenantTx,
  keyRing: KeyRing,
  tenantId: number,
  { hashes, verifiedAt }: { hashes: string[]; verifiedAt: string },
): Promise<void> {
  const departments: number[] = []
  for (const name of DEPARTMENTS)
    departments.push((await insertDepartment(tx, { tenant_id: tenantId, name })).id)
  const doctors: number[] = []
  for (const [index, [local, full_name, role, department]] of PEOPLE.entries()) {
    const user = await insertUser(tx, {
      tenant_id: tenantId,
      email: `${local}@demo.local`,
      full_name,
      role,
      department_id: department === null ? null : (departments[department] ?? null),
      can_see_all_patients: role === 'admin',
      password_hash: hashes[index] as string,
      email_verified_at: verifiedAt,
    })
    if (role === 'doctor') doctors.push(user.id)
  }
  const pick = (ids: number[], index: number) => ids[index % ids.length] ?? null
  await insertPatients(
    tx,
    keyRing,
    tenantId,
    Array.from({ length: PATIENTS }, (_, index) => ({
      ...demoPatient(index),
      department_id: pick(departments, index),
      attending_doctor_id: pick(doctors, index),
    })),
  )
}
