/** Tests the embedded server after a kill. It ends with the service, loses no data, and restarts. */
import { spawn } from 'node:child_process'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { postmasterPid, query, service, started } from '../../../test/support/embedded.ts'
import { childrenOf, nobodyLeft, processesOn } from '../../../test/support/processes.ts'
import { scratch } from '../../../test/support/scratch.ts'
import { until } from '../../../test/support/until.ts'

/** Sends a signal to a process. Ignores the error if the process has already ended. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    expect(error).toMatchObject({ code: 'ESRCH' })
  }
}

describe('when the service is killed with -9, the embedded server', () => {
  test('loses no acknowledged write and leaves no server running, five times in a row', {
    timeout: 60_000,
  }, async () => {
    const dataDir = await scratch()
    const acknowledged: number[] = []
    for (let round = 0; round < 5; round++) {
      const child = service(dataDir, { mode: 'write' })
      await until('the service has written', () =>
        child.said('ack').length > 40 * round ? true : undefined,
      )
      child.kill()
      await child.ended
      acknowledged.push(...child.said<number>('ack'))
      // The next round starts immediately, while this round's server may still be stopping.
    }
    await nobodyLeft(dataDir)
    const server = await started(dataDir)
    const kept = new Set(
      (await query<{ id: string }>(server.connection, 'SELECT id FROM note')).map((row) =>
        Number(row.id),
      ),
    )
    expect(acknowledged.length).toBeGreaterThan(400)
    expect(acknowledged.filter((id) => !kept.has(id))).toEqual([])
  })

  test('leaves no partial cluster if the kill interrupts the creation of the cluster', async () => {
    const dataDir = await scratch()
    await service(dataDir, { mode: 'die-in-initdb' }).ended
    const left = await readdir(dataDir)
    expect(left.filter((name) => name.startsWith('postgres.draft-'))).toHaveLength(1)
    expect(left).not.toContain('postgres')
    const server = await started(dataDir)
    expect(await query(server.connection, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    expect((await readdir(dataDir)).filter((name) => name.includes('draft'))).toEqual([])
  })

  test('is stopped at the next start and keeps its data if the supervisor was killed too', async () => {
    const dataDir = await scratch()
    const child = service(dataDir, { mode: 'write' })
    await child.first('ack')
    const orphan = await postmasterPid(dataDir)
    // Suspends the service first. Otherwise the service would immediately start another server and supervisor.
    process.kill(child.pid, 'SIGSTOP')
    const shells = (await processesOn(dataDir)).filter((pid) => pid !== child.pid)
    for (const pid of shells) {
      if ((await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).trim() === 'sh')
        process.kill(pid, 'SIGKILL')
    }
    child.kill()
    await child.ended
    expect(await processesOn(dataDir)).toContain(orphan)
    const server = await started(dataDir)
    expect(await postmasterPid(dataDir)).not.toBe(orphan)
    expect(await processesOn(dataDir)).not.toContain(orphan)
    const [found] = await query<{ count: string }>(server.connection, 'SELECT count(*) FROM note')
    expect(Number(found?.count)).toBeGreaterThanOrEqual(child.said('ack').length)
  })
})

describe('when the server is killed with -9, the embedded server', () => {
  test('restarts with its data', async () => {
    const dataDir = await scratch()
    const server = await started(dataDir)
    await query(server.connection, `CREATE TABLE note AS SELECT 'kept' AS body`)
    for (let round = 0; round < 3; round++) {
      const killed = await postmasterPid(dataDir)
      process.kill(killed, 'SIGKILL')
      await until('another server answers', async () => {
        const rows = await query(server.connection, 'SELECT body FROM note')
        expect(rows).toEqual([{ body: 'kept' }])
        return (await postmasterPid(dataDir)) !== killed ? true : undefined
      })
    }
    await server.stop()
    await nobodyLeft(dataDir)
  })

  test('restarts even if a process of the dead server keeps running for a while', async () => {
    const dataDir = await scratch()
    const said: string[] = []
    const say = (_: object, message: string) => void said.push(message)
    const server = await started(dataDir, undefined, { info: say, warn: say, error: say })
    const client = new pg.Client(server.connection)
    client.on('error', () => undefined)
    await client.connect()
    onTestFinished(() => client.end().catch(() => undefined))
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    const backend = rows[0]?.pid as number
    // A suspended backend does not notice that the postmaster has died, and keeps its shared memory.
    process.kill(backend, 'SIGSTOP')
    onTestFinished(() => void signal(backend, 'SIGCONT'))
    const killed = await postmasterPid(dataDir)
    process.kill(killed, 'SIGKILL')
    await until('it has tried in vain', () =>
      said.includes('PostgreSQL restart failed; retrying') ? true : undefined,
    )
    expect(said).not.toContain('PostgreSQL restarted')
    process.kill(backend, 'SIGCONT')
    await until('another server answers', async () => {
      await query(server.connection, 'SELECT 1')
      return (await postmasterPid(dataDir)) !== killed ? true : undefined
    })
    expect(await processesOn(dataDir)).not.toContain(backend)
  })

  test('does not start the server again if stop() is called during a restart', async () => {
    const dataDir = await scratch()
    const server = await started(dataDir)
    process.kill(await postmasterPid(dataDir), 'SIGKILL')
    await server.stop()
    await nobodyLeft(dataDir)
    const next = await started(dataDir)
    expect(await query(next.connection, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  test('restarts under a new supervisor if the supervisor is killed', async () => {
    const dataDir = await scratch()
    const server = await started(dataDir)
    const orphan = await postmasterPid(dataDir)
    const status = await readFile(`/proc/${orphan}/status`, 'utf8')
    const supervisor = Number(/^PPid:\s*(\d+)/m.exec(status)?.[1])
    expect(await childrenOf(supervisor)).toContain(orphan)
    process.kill(supervisor, 'SIGKILL')
    await until('another server answers', async () => {
      await query(server.connection, 'SELECT 1')
      return (await postmasterPid(dataDir)) !== orphan ? true : undefined
    })
  })

  test('starts even if the pid in postmaster.pid now belongs to another process', async () => {
    const dataDir = await scratch()
    const first = await started(dataDir)
    const pidFile = join(dataDir, 'postgres', 'postmaster.pid')
    const content = await readFile(pidFile, 'utf8')
    await first.stop()
    const { uid, gid } = await stat(join(dataDir, 'postgres'))
    const stranger = spawn('sleep', ['60'], { uid, gid, stdio: 'ignore' })
    onTestFinished(() => void stranger.kill('SIGKILL'))
    for (const file of [pidFile, join(dataDir, 'run', '.s.PGSQL.5432.lock')]) {
      await writeFile(file, content.replace(/^\d+/, String(stranger.pid)))
    }
    const server = await started(dataDir)
    expect(await query(server.connection, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    expect(stranger.exitCode ?? stranger.signalCode).toBeNull()
  })
})
