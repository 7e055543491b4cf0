/** A syslog receiver over TLS that is killed again and again: no entry is missing, and repetitions are recognisable. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { makeCertificate } from '../support/certificate.ts'
import { scratch } from '../support/scratch.ts'
import { until } from '../support/until.ts'
import {
  allConfirmed,
  eventsOf,
  exporting,
  idsOf,
  newestId,
  openExporter,
  TLS,
  writeEntries,
  writeRead,
} from './scene.ts'

const KILLS = 5
const { cert, key } = makeCertificate()

/** Starts a receiver that appends to the file. */
async function startReceiver(file: string, port: number): Promise<ChildProcess & { port: number }> {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'receiver-child.ts'), file, String(port), cert, key],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data')
  return Object.assign(child, { port: Number(/^ready (\d+)/.exec(line)?.[1]) })
}

test('no entry is missing after a receiver was killed five times, and repetitions have the same uid and sequence', {
  timeout: 120_000,
}, async () => {
  const file = join(await scratch(), 'received')
  let receiver = await startReceiver(file, 0)
  const service = await openExporter({ SIEM_URL: TLS(receiver.port), SIEM_CA_FILE: cert })
  const { database } = service
  await exporting(database)
  const first = await newestId(database)
  let isWriting = true
  const writing = (async () => {
    while (isWriting) {
      await writeEntries(service, 20)
      await writeRead(database)
    }
  })()
  for (let kill = 0; kill < KILLS; kill += 1) {
    const before = (await readFile(file, 'utf8')).length
    await until(
      'more entries arrive',
      async () => (await readFile(file, 'utf8')).length > before + 20_000 || undefined,
    )
    receiver.kill('SIGKILL')
    await once(receiver, 'exit')
    await until(
      'the failure is noticed',
      () =>
        service.logged.filter(([, , text]) => String(text).startsWith('SIEM export failed'))
          .length > kill || undefined,
    )
    receiver = await startReceiver(file, receiver.port)
  }
  isWriting = false
  await writing
  await allConfirmed(database)

  const events = eventsOf(await readFile(file, 'utf8'))
  const uids = new Set(events.map(({ metadata }) => metadata.uid))
  const missing = (await idsOf(database, first)).filter((id) => !uids.has(id))
  expect(missing).toEqual([])
  expect(events.length).toBeGreaterThan(uids.size)
  const sequences = new Map<string, Set<number>>()
  for (const { metadata } of events)
    sequences.set(metadata.uid, (sequences.get(metadata.uid) ?? new Set()).add(metadata.sequence))
  expect([...sequences.values()].filter(({ size }) => size > 1)).toEqual([])
  expect(new Set([...sequences.values()].flatMap((set) => [...set])).size).toBe(uids.size)
  expect(events.some(({ metadata }) => metadata.event_code === 'patient.read')).toBe(true)
})
