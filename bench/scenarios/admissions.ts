/** Data that the seed does not create for clinics: patients, and heads of departments. */
import pg from 'pg'
import type { Deployment } from '../environment.ts'
import { tenantId } from '../seed/people.ts'
import { emailOf, PASSWORD, subdomainOf } from '../seed/sizes.ts'
import { signIn } from '../service.ts'
import { CONNECTIONS } from './scenario.ts'
import { call, patientOf } from './ward.ts'

const ADMITTED = 'select distinct tenant_id::integer from patients'

const COLUMNS = `tenant_id, sealed_full_name, sealed_birth_date, sealed_sex, sealed_identifiers,
  sealed_phone, sealed_email, sealed_address, sealed_allergies, sealed_notes`
/** The first patient of each clinic, and the number of its patients. */
const FIRST = 'select tenant_id, min(id) as id, count(*) as there from patients group by tenant_id'
const COPY_PATIENTS = `
  insert into patients (department_id, ${COLUMNS})
  select ($2::bigint[])[1 + number % greatest(1, cardinality($2::bigint[]))], ${COLUMNS}
  from (${FIRST}) first join patients using (tenant_id, id),
    generate_series(1, $1::integer - there) as number`
/** Copies as many tokens as the first patient has, with different values. */
const COPY_TOKENS = `
  insert into patient_tokens (tenant_id, patient_id, kind, token, data_key_id)
  select tenant_id, p.id, kind, decode(md5(p.id || ' ' || token::text), 'hex'), t.data_key_id
  from (${FIRST}) first join patients p using (tenant_id) join patient_tokens t using (tenant_id)
  where t.patient_id = first.id
    and not exists (select from patient_tokens has where has.patient_id = p.id)`

/** The first active doctor of each department. */
const HEADS = `
  update departments d set head_doctor_id = (
    select min(u.id) from users u where u.tenant_id = d.tenant_id and u.department_id = d.id
      and u.role = 'doctor' and u.is_active)
  where head_doctor_id is null`

/**
 * Ensures that each clinic has this many patients, the first of them created through the API, and that each department
 * has a head. Reuses patients of an earlier run.
 */
export async function admit(deployment: Deployment, each: number): Promise<void> {
  const client = new pg.Client(deployment.database)
  await client.connect()
  try {
    const { rows } = await client.query<{ tenant_id: number }>(ADMITTED)
    const admitted = new Set(rows.map(({ tenant_id }) => tenant_id))
    const clinics = Array.from({ length: deployment.size.tenants }, (_, clinic) => clinic)
    const lacking = clinics.filter((clinic) => !admitted.has(tenantId(clinic))).values()
    const lane = async () => {
      for (const clinic of lacking) await admitFirst(deployment, clinic)
    }
    await Promise.all(Array.from({ length: CONNECTIONS }, lane))
    await copyPatients(client, each)
    await client.query(HEADS)
    await client.query('vacuum (analyze) patients, patient_tokens, departments')
  } finally {
    await client.end()
  }
}

/**
 * Ensures that each clinic with a patient has this many, with the encrypted fields of the first. They are encrypted for
 * its row, so nobody decrypts them. They belong to these departments in turn, or to none.
 */
export async function copyPatients(
  client: pg.Client,
  each: number,
  departments: readonly number[] = [],
): Promise<void> {
  await client.query(COPY_PATIENTS, [each, departments])
  await client.query(COPY_TOKENS)
}

async function admitFirst({ service }: Deployment, clinic: number): Promise<void> {
  const admin = await signIn(service.url, emailOf(clinic, 0), PASSWORD, subdomainOf(clinic))
  const headers = { authorization: `Bearer ${admin.access_token}` }
  await call(service, headers, 'POST', '/api/patients', patientOf(clinic))
}
