/** Two nodes of one cluster: one of them exports, and the other goes on after the first was killed. */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeCertificate } from '../support/certificate.ts'
import { goldenDatabase } from '../support/database.ts'
import { command, PLAIN } from '../support/process.ts'
import { scratch } from '../support/scratch.ts'
import { openService, ROOT_KEY } from '../support/service.ts'
import { until } from '../support/until.ts'
import { openHttpsReceiver } from './https-receiver.ts'
import { allConfirmed, exporting, idsOf, newestId, writeEntries } from './scene.ts'

const server = makeCertificate()

test('the other node goes on after the exporting node was killed, and no entry is missing', {
  timeout: 240_000,
}, async () => {
  const receiver = await openHttpsReceiver(server)
  const database = await goldenDatabase()
  const service = await openService({ database })
  const dataDir = await scratch()
  const ca = join(dataDir, 'ca.pem')
  await writeFile(ca, server.cert)
  const nodes = [1, 2].map(() =>
    command(['start', '--role', 'worker'], {
      ...PLAIN,
      DATABASE_URL: database.url,
      DATA_DIR: dataDir,
      ENCRYPTION_KEY: ROOT_KEY.toString('base64'),
      SIEM_URL: receiver.url.href,
      SIEM_CA_FILE: ca,
    }),
  )
  await exporting(database, 120_000)
  const first = await newestId(database)
  const isExporting = (node: (typeof nodes)[number]) =>
    node.stdout().includes('SIEM export lease acquired')
  const exporter = await until('a node exports', () => nodes.find(isExporting))
  const other = nodes.find((node) => node !== exporter)
  let posts = 0
  receiver.answerWith(() => {
    posts += 1
    // The node is killed after the receiver has the entries, and before the node knows that.
    if (posts === 3) exporter.signal('SIGKILL')
    return 200
  })
  for (let round = 0; round < 4; round += 1) {
    await writeEntries(service, 25)
    if (round < 2) await until('entries arrive', () => posts > round || undefined)
  }
  expect((await exporter.ended).signal).toBe('SIGKILL')
  expect(other && isExporting(other)).toBe(false)
  await allConfirmed(database)
  await until('the other node exports', () => (other && isExporting(other)) || undefined)
  const uids = receiver.accepted.map((line) => JSON.parse(line).metadata.uid)
  expect([...new Set(uids)].sort()).toEqual((await idsOf(database, first)).sort())
})
