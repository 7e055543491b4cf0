/**
 * The export of the audit log to a SIEM: entries per second that the service sends to a syslog receiver over TLS,
 * compared with the same bytes over a bare TLS connection.
 */
import { readFile, rm } from 'node:fs/promises'
import pg from 'pg'
import { openBaseline } from '../baselines/baseline.ts'
import { compare } from '../measure/compare.ts'
import { perSecond } from '../measure/table.ts'
import { ownerOf, startService } from '../service.ts'
import type { Scenario } from './scenario.ts'
import { seedUnsealed, untilRead, untilSealed } from './sealing.ts'
import { openSyslogReceiver } from './syslog-receiver.ts'

const TENANTS = 20
const ENTRIES = 100_000

export const siem: Scenario = async (environment, pace, say) => {
  const folder = environment.emptyFolder()
  const file = `${folder}.syslog`
  const receiver = await openSyslogReceiver(folder)
  const writer = openBaseline(new URL('../baselines/tls-writer.ts', import.meta.url))
  try {
    const entriesPerTenant = (ENTRIES * pace.share) / TENANTS
    await seedUnsealed(folder, { tenants: TENANTS, usersPerTenant: 50, entriesPerTenant }, say)
    say('siem: waiting until all entries are sealed')
    await untilIdle(folder)
    /** The number of messages in the file, or 0 before the first export. */
    let saved = 0

    const exportAll = async () => {
      const entries = await forgetExport(folder)
      await receiver.reset()
      const service = await startService(folder, {
        SIEM_URL: `syslog+tls://localhost:${receiver.port}`,
        SIEM_CA_FILE: receiver.certificateFile,
        SIEM_SINCE: 'start',
      })
      const { rate } = await receiver.wait(entries).finally(service.stop)
      if (saved === 0) {
        await receiver.save(file)
        saved = await countMessages(file)
        if (saved < entries) throw new Error(`the file has ${saved} of ${entries} entries`)
        say(`siem: exported each of ${saved.toLocaleString('en-US')} entries once`)
      }
      return rate
    }
    const writeBytes = async () => {
      await receiver.reset()
      const { port, certificateFile } = receiver
      const written = await writer.ask<number>({ file, port, certificateFile })
      const { rate, bytes } = await receiver.wait(saved)
      if (bytes !== written) throw new Error(`${bytes} of ${written} bytes have arrived`)
      return rate
    }
    const outcome = await compare(exportAll, writeBytes, pace)
    return [
      {
        name: 'entries exported to a SIEM, against the same bytes over bare TLS',
        ours: perSecond(outcome.ours),
        limit: perSecond(outcome.baseline),
        ratio: outcome.ratio,
        aim: { atLeast: 0.3 },
      },
    ]
  } finally {
    writer.stop()
    await receiver.stop()
    await rm(file, { force: true })
    await rm(folder, { recursive: true, force: true })
  }
}

/** Runs the service until it has sealed the journal and its consumers have read it, so that neither competes later. */
async function untilIdle(folder: string): Promise<void> {
  const service = await startService(folder)
  const database = new pg.Client(ownerOf(folder))
  try {
    await database.connect()
    await untilSealed(database)
    await untilRead(database)
  } finally {
    await database.end()
    await service.stop()
  }
}

/** Removes the position of the export, so that the next start exports everything. Returns the number of entries. */
async function forgetExport(folder: string): Promise<number> {
  const service = await startService(folder, {}, 'api')
  const database = new pg.Client(ownerOf(folder))
  try {
    await database.connect()
    await database.query(`delete from journal_consumers where consumer = 'siem'`)
    return (await database.query('select count(*)::float8 as count from journal')).rows[0].count
  } finally {
    await database.end()
    await service.stop()
  }
}

/**
 * Counts the messages of a file that a first export has sent.
 * @throws Error unless their numbers ascend from 1 and their entries differ
 */
async function countMessages(file: string): Promise<number> {
  const bytes = await readFile(file)
  const entries = new Set<string>()
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(' ', at)
    const end = space + 1 + Number(bytes.toString('latin1', at, space))
    const message = bytes.toString('latin1', space + 1, end)
    const [, entry = '', sequence] = /"uid":"(\d+)","sequence":(\d+)/.exec(message) ?? []
    entries.add(entry)
    if (Number(sequence) !== entries.size)
      throw new Error(`not message ${entries.size}: ${message}`)
    at = end
  }
  return entries.size
}
