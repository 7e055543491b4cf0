/** The database cost of journaled reads: bytes on disk with indexes, and the number of shared commits. */
import { rm } from 'node:fs/promises'
import pg from 'pg'
import { ownerOf, startService } from '../service.ts'
import { CONNECTIONS, type Scenario } from './scenario.ts'
import { call, furnish, makeWard } from './ward.ts'

const PATIENTS = 500
const READS = 32_000
const BYTES = 600
/** The maximum of commits for a hundred reads. */
const COMMITS = 25

const WEIGHT = `
  select sum(pg_total_relation_size(relid))::float8 as bytes
  from (select relid from pg_partition_tree('journal') where isleaf
    union all select relid from pg_partition_tree('journal_resources') where isleaf) parts`
const WRITTEN = `
  select count(*)::float8 as entries, count(distinct xid)::float8 as commits
  from journal where is_access`

export const readEntries: Scenario = async (environment, pace) => {
  const folder = environment.emptyFolder()
  const service = await startService(folder)
  const database = new pg.Client(ownerOf(folder))
  try {
    await database.connect()
    const ward = await makeWard(service)
    const ids = await furnish(ward, PATIENTS)
    const bytes = async () => (await database.query(WEIGHT)).rows[0].bytes
    const before = await bytes()
    const reads = Math.round(READS * pace.share)
    let done = 0
    const lane = async () => {
      while (done < reads) {
        done += 1
        await call(service, ward.headers, 'GET', `/api/patients/${ids[done % ids.length]}`)
      }
    }
    await Promise.all(Array.from({ length: CONNECTIONS }, lane))
    const [{ entries, commits }] = (await database.query(WRITTEN)).rows
    if (entries < reads) throw new Error(`of ${reads} reads ${entries} have an entry`)
    const each = ((await bytes()) - before) / entries
    const of100 = (commits / entries) * 100
    return [
      {
        name: `a journaled read on disk, of ${entries.toLocaleString('en-US')}`,
        ours: `${each.toFixed(0)} bytes`,
        limit: `${BYTES} bytes`,
        ratio: each / BYTES,
        aim: { atMost: 1 },
      },
      {
        name: `commits for 100 reads, ${CONNECTIONS} at once`,
        ours: of100.toFixed(1),
        limit: String(COMMITS),
        ratio: of100 / COMMITS,
        aim: { atMost: 1 },
      },
    ]
  } finally {
    await database.end()
    await service.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
