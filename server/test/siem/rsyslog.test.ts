/** The export to Debian's rsyslog, which parses each message and is restarted. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { freePort, INHERITED } from '../support/process.ts'
import { scratch } from '../support/scratch.ts'
import { until } from '../support/until.ts'
import {
  allConfirmed,
  exporting,
  idsOf,
  newestId,
  openExporter,
  TCP,
  writeEntries,
} from './scene.ts'

const RSYSLOGD = '/usr/sbin/rsyslogd'
const isMissing = !existsSync(RSYSLOGD)

/** Writes the fields of each message as rsyslog has parsed them, separated by tabs. */
const configOf = (folder: string, port: number) => `
module(load="imtcp")
input(type="imtcp" port="${port}" address="127.0.0.1")
template(name="parsed" type="string"
  string="%syslogfacility%\\t%msgid%\\t%app-name%\\t%structured-data%\\t%msg%\\n")
action(type="omfile" file="${folder}/received" template="parsed" sync="on")
`

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const isOpen = await Promise.race([
    once(socket, 'connect').then(() => true),
    once(socket, 'error').then(() => false),
  ]).catch(() => false)
  socket.destroy()
  return isOpen
}

async function startRsyslog(folder: string, port: number): Promise<ChildProcess> {
  const child = spawn(RSYSLOGD, ['-n', '-f', `${folder}/rsyslog.conf`, '-i', `${folder}/pid`], {
    cwd: folder,
    env: INHERITED,
    stdio: 'ignore',
  })
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  await until('rsyslog listens', async () => (await isListening(port)) || undefined)
  return child
}

async function end(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM')
  await once(child, 'exit')
}

test.skipIf(isMissing)(
  'rsyslog receives every entry although it is restarted, and parses each message (needs the package rsyslog)',
  { timeout: 120_000 },
  async () => {
    const folder = await scratch()
    const port = await freePort()
    await writeFile(join(folder, 'rsyslog.conf'), configOf(folder, port))
    let rsyslog = await startRsyslog(folder, port)
    const service = await openExporter({ SIEM_URL: TCP(port) })
    const { database } = service
    await exporting(database)
    const first = await newestId(database)
    // A huge entry shows that rsyslog takes the largest message whole.
    await database.sql(
      `insert into journal (action, resource_type, user_agent, changes) values
       ('tenant.updated', 'tenant', E'forged\\n<13>1 - - - - - -', jsonb_build_object('note', repeat('ü', 1100))),
       ('tenant.updated', 'tenant', null, jsonb_build_object('note', repeat('x', 100000)))`,
    )
    const received = async () => {
      const text = await readFile(join(folder, 'received'), 'utf8').catch(() => '')
      return text.split('\n').filter((line) => line.endsWith('}'))
    }
    for (let restart = 0; restart < 2; restart += 1) {
      const before = (await received()).length
      await writeEntries(service, 50)
      await until(
        'entries arrive',
        async () => (await received()).length > before + 20 || undefined,
      )
      await Promise.all([writeEntries(service, 50), end(rsyslog)])
      rsyslog = await startRsyslog(folder, port)
    }
    await writeEntries(service, 1)
    await allConfirmed(database)
    await end(rsyslog)
    const lines = (await received()).map((line) => line.split('\t'))
    const uids = new Set(lines.map((fields) => JSON.parse(fields[4] ?? '').metadata.uid))
    expect((await idsOf(database, first)).filter((id) => !uids.has(id))).toEqual([])
    for (const [facility, msgId, appName, data] of lines) {
      expect([facility, msgId, appName]).toEqual(['13', 'tenant.updated', 'wardkeep'])
      expect(data).toMatch(
        /^\[origin software="Wardkeep" swVersion="[\d.]+"\]\[meta sequenceId="\d+"\]$/,
      )
    }
  },
)
