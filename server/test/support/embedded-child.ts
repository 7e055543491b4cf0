/**
 * A service in a separate process for the tests of the embedded server. It starts on the given folder and prints `ready
 * <json>`. With `write` it inserts rows, and prints `ack <id>` after each commit. With `die-in-initdb` it kills itself
 * before the new cluster is moved into place.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { StartupError } from '../../src/lib/startup-error.ts'
import { startEmbedded } from '../../src/platform/embedded/index.ts'

const [dataDir = '', mode] = process.argv.slice(2)
const say = (kind: string, value: unknown) =>
  void process.stdout.write(`${kind} ${JSON.stringify(value)}\n`)
const tell = (_: object, message: string) => say('log', message)

if (mode === 'die-in-initdb') {
  // The check runs before this process handles the end of initdb, even if the timer fires late.
  setInterval(() => {
    const draft = readdirSync(dataDir).find((name) => name.startsWith('postgres.draft-'))
    if (draft && existsSync(join(dataDir, draft, 'PG_VERSION')))
      process.kill(process.pid, 'SIGKILL')
  }, 1)
}

try {
  const server = await startEmbedded({ dataDir, log: { info: tell, warn: tell, error: tell } })
  say('ready', server.connection)
  process.stdin.on('end', () => void server.stop()).resume()
  if (mode === 'write') await write(server.connection)
} catch (error) {
  if (!(error instanceof StartupError)) throw error
  say('fault', error.lines)
  process.exitCode = 3
}

async function write(connection: pg.ClientConfig): Promise<void> {
  const client = new pg.Client(connection)
  await client.connect()
  await client.query(
    'CREATE TABLE IF NOT EXISTS note (id bigserial PRIMARY KEY, body text NOT NULL)',
  )
  for (;;) {
    const { rows } = await client.query<{ id: string }>(
      `INSERT INTO note (body) VALUES (repeat('x', 500)) RETURNING id`,
    )
    say('ack', Number(rows[0]?.id))
  }
}
