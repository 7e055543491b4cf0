/** Detects poolers that use a different session for each transaction. The service does not support them. */
import { StartupError } from '../../lib/startup-error.ts'
import { type DatabaseAddress, plainClient } from './connection.ts'

/**
 * Compares the server processes of two connections, which must each keep their own. Only reads, so it leaves no lock.
 * @throws StartupError if they share a server process, or change it between transactions
 */
export async function requireSessionPooling(address: DatabaseAddress): Promise<void> {
  const [one, other] = [plainClient(address), plainClient(address)]
  try {
    await one.connect()
    await other.connect()
    const ofOne = new Set([await processOf(one)])
    const ofOther = new Set([await processOf(other)])
    if (ofOne.isDisjointFrom(ofOther)) {
      // An open transaction keeps its server process, so the other connection must get another process.
      for (const [keeper, asker, asked] of [
        [one, other, ofOther],
        [other, one, ofOne],
      ] as const) {
        await keeper.query('begin')
        await processOf(keeper)
        asked.add(await processOf(asker))
        await keeper.query('commit')
      }
    }
    if (ofOne.size > 1 || ofOther.size > 1 || !ofOne.isDisjointFrom(ofOther))
      throw new StartupError(
        'DATABASE_URL: the connection pooler uses a different session for each transaction. Set its pool mode to session (PgBouncer: pool_mode = session), or connect directly.',
      )
  } finally {
    await Promise.all([one.end(), other.end()])
  }
}

async function processOf(client: ReturnType<typeof plainClient>): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return Number(rows[0]?.pid)
}
