/** Patients, put together. */
import type { Needs } from '../../core.ts'
import type { Feature } from '../../platform/feature.ts'
import { accessOperations } from './accesses/accesses.routes.ts'
import { accessesService } from './accesses/accesses.service.ts'
import { notesReads } from './accesses/reads.ts'
import { patientOperations } from './patients.routes.ts'
import { PATIENT_TABLES } from './patients.table.ts'
import { loaderOf } from './records/load.ts'
import { recordsService } from './records/records.service.ts'
import { GRANTS, PATIENTS } from './sealed.ts'
import { searchService } from './search/search.service.ts'
import { breakingGlass } from './sight/break-glass.service.ts'
import { openSights } from './sight/sight.ts'
import { purgesDeleted } from './upkeep/purge.jobs.ts'
import { countPatients, purgePatients } from './upkeep/upkeep.store.ts'

type Core = Needs<
  'db' | 'clock' | 'jobs' | 'keyRing' | 'log' | 'mailer' | 'readJournal' | 'throttle',
  'PATIENT_PURGE_DAYS'
>

export function openPatients(core: Core): Feature {
  const { db, clock, keyRing, log, mailer, throttle, jobs, config } = core
  const noteRead = notesReads(core.readJournal)
  const sights = openSights(db, clock)
  const load = loaderOf(db, keyRing)
  purgesDeleted({ db, clock, jobs, keepDays: config.PATIENT_PURGE_DAYS })
  return {
    name: 'patients',
    operations: [
      ...patientOperations({
        clock,
        records: recordsService({ db, clock, keyRing, sights, load, noteRead }),
        search: searchService({ db, clock, keyRing, noteRead, log }),
        breakGlass: breakingGlass({ db, clock, keyRing, mailer, throttle }),
      }),
      ...accessOperations(accessesService({ db, clock, keyRing, sights, load, noteRead })),
    ],
    sealed: [PATIENTS, GRANTS],
    conflicts: { patient_tokens__identifier: 'identifier_taken' },
    tables: PATIENT_TABLES,
    counts: { patients_count: countPatients },
    purgeRows: purgePatients,
  }
}
