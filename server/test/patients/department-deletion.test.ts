/** Deleting a department with any number of patients takes one transaction and writes one journal entry. */
import { expect, test } from 'vitest'
import { openService } from '../support/service.ts'
import { openPatientScene } from './scene.ts'

test('deleting a department removes it from all its patients, even if that exceeds the usual time limit', async () => {
  const service = await openService()
  const { sql } = service.database
  const { as, clinic, elsewhere, patient } = await openPatientScene(service)
  const ids: number[] = []
  for (const department_id of [elsewhere, elsewhere, clinic.departmentId])
    ids.push((await patient({ department_id })).id)
  // Simulates very many patients, for whom a limit under a minute is not enough.
  await sql(`
    create function take_long() returns trigger language plpgsql as $$
    begin
      if current_setting('statement_timeout')::interval < interval '1 minute' then
        raise query_canceled;
      end if;
      return null;
    end $$;
    create trigger take_long before update on patients for each statement execute function take_long()`)

  const gone = await as('admin')('DELETE', `/api/admin/departments/${elsewhere}`)
  expect(gone.status).toBe(204)
  const places = await sql<{ department_id: number | null }>(
    'select department_id::int from patients where id = any($1) order by id',
    [ids],
  )
  expect(places.map((row) => row.department_id)).toEqual([null, null, clinic.departmentId])
  const entries = await sql<{ resource_id: string }>(
    "select resource_id from journal where action = 'department.deleted'",
  )
  expect(entries).toEqual([{ resource_id: String(elsewhere) }])
  // Changes by other users still have the usual time limit.
  const change = await as('admin')('PUT', `/api/patients/${ids[0]}`, { phone: '1' })
  expect(change.status).toBe(503)
})
