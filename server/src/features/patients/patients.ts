import type { Needs } from '../../core.ts'
import type { Feature } from '../../platform/feature/feature.ts'
import { accessOperations } from './accesses/accesses.routes.ts'
import { accessesService } from './accesses/accesses.service.ts'
import { notesReads } from './accesses/reads.ts'
import { cacheOperations } from './cache/cache.routes.ts'
import { cacheAdministration, NODE } from './cache/cache.service.ts'
import { comparesCache } from './cache/compare.ts'
import { openPatientCache } from './cache/patient-cache.ts'
import { PATIENT_FIXES } from './fixes.ts'
import { patientOperations } from './patients.routes.ts'
import { PATIENT_COLUMNS, PATIENT_TABLES } from './patients.table.ts'
import { guessedIdentifiers, IDENTIFIER_CONFLICT } from './records/guessed-identifiers.ts'
import { loaderOf } from './records/load.ts'
import { patientRecordsService } from './records/records.service.ts'
import { searchService } from './search/search.service.ts'
import { breakingGlass } from './sight/break-glass.service.ts'
import { endGrants } from './sight/grants.store.ts'
import { openSights } from './sight/sight.ts'
import { foldsTokens } from './upkeep/fold-tokens.ts'
import { PATIENTS_FIGURES } from './upkeep/overview.ts'
import { purgesDeleted } from './upkeep/purge.jobs.ts'
import { countPatients, purgePatients } from './upkeep/upkeep.store.ts'

type Core = Needs<
  | 'db'
  | 'changes'
  | 'clock'
  | 'hold'
  | 'jobs'
  | 'keyRing'
  | 'log'
  | 'mailer'
  | 'readJournal'
  | 'throttle',
  | 'PATIENT_CACHE_MAX_BYTES'
  | 'PATIENT_CACHE_MAX_ENTRIES'
  | 'PATIENT_CACHE_TTL_SECONDS'
  | 'PATIENT_PURGE_DAYS'
>

export function openPatients(core: Core): Feature {
  const { db, changes, clock, keyRing, log, mailer, throttle, jobs, hold, config } = core
  const noteRead = notesReads(core.readJournal)
  const sights = openSights(db, clock)
  const load = loaderOf(db, keyRing)
  const bounds = {
    maxEntries: config.PATIENT_CACHE_MAX_ENTRIES,
    maxBytes: config.PATIENT_CACHE_MAX_BYTES,
    ttlSeconds: config.PATIENT_CACHE_TTL_SECONDS,
  }
  const cache = openPatientCache({ clock, changes, load: load.one }, bounds)
  purgesDeleted({ db, clock, jobs, hold, keepDays: config.PATIENT_PURGE_DAYS })
  return {
    name: 'patients',
    operations: [
      ...patientOperations({
        clock,
        records: patientRecordsService({
          db,
          clock,
          keyRing,
          sights,
          cache,
          noteRead,
          guessed: guessedIdentifiers(throttle),
        }),
        search: searchService({ db, clock, keyRing, noteRead, log }),
        breakGlass: breakingGlass({ db, clock, keyRing, mailer, throttle }),
      }),
      ...accessOperations(
        accessesService({ db, clock, keyRing, sights, load: load.one, noteRead }),
      ),
      ...cacheOperations(cacheAdministration({ db, changes, cache, loadMany: load.many, bounds })),
    ],
    upkeep: [
      foldsTokens({ db, keyRing }),
      comparesCache({ db, changes, cache, load: load.anybody, node: NODE }),
    ],
    fixes: PATIENT_FIXES,
    conflicts: IDENTIFIER_CONFLICT,
    tables: PATIENT_TABLES,
    columns: PATIENT_COLUMNS,
    restoring: { after: endGrants },
    counts: { patients_count: countPatients },
    figures: PATIENTS_FIGURES,
    purgeRows: purgePatients,
  }
}
