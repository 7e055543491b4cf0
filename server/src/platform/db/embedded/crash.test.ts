/** The embedded server when something is killed: it ends with the service, loses nothing, and comes back. */
import { spawn } from 'node:child_process'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { postmasterPid, query, service, started } from '../../../../test/support/embedded.ts'
import { childrenOf, nobodyLeft, processesOn } from '../../../../test/support/processes.ts'
import { scratch } from '../../../../test/support/scratch.ts'
import { until } from '../../../../test/support/until.ts'

/** Sends a signal to a process that may have gone. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    expect(error).toMatchObject({ code: 'ESRCH' })
  }
}

describe('when the service is killed with -9', () => {
  test('nothing acknowledged is lost and no server is left, five times over', {
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
      // The next round starts at once, while the server of this one may still be stopping.
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

  test('in the middle of making the cluster, nothing half-made is left in its place', async () => {
    const dataDir = await scratch()
    await service(dataDir, { mode: 'die-in-initdb' }).ended
    const left = await readdir(dataDir)
    expect(left.filter((name) => name.startsWith('postgres.draft-'))).toHaveLength(1)
    expect(left).not.toContain('postgres')
    const server = await started(dataDir)
    expect(await query(server.connection, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    expect((await readdir(dataDir)).filter((name) => name.includes('draft'))).toEqual([])
  })

  test('with its supervisor, the server left over is stopped and its data are there', async () => {
    const dataDir = await scratch()
    const child = service(dataDir, { mode: 'write' })
    await child.first('ack')
    const orphan = await postmasterPid(dataDir)
    // Stopped first: it would start another server under another supervisor at once.
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

describe('when the server is killed with -9', () => {
  test('it comes back with its data', async () => {
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

  test('it comes back although a process of the dead one is busy for a while', async () => {
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
    // Halted it does not see that the postmaster has gone, and keeps the dead one's memory.
    process.kill(backend, 'SIGSTOP')
    onTestFinished(() => void signal(backend, 'SIGCONT'))
    const killed = await postmasterPid(dataDir)
    process.kill(killed, 'SIGKILL')
    await until('it has tried in vain', () =>
      said.includes('PostgreSQL did not start again; trying once more') ? true : undefined,
    )
    expect(said).not.toContain('PostgreSQL is back')
    process.kill(backend, 'SIGCONT')
    await until('another server answers', async () => {
      await query(server.connection, 'SELECT 1')
      return (await postmasterPid(dataDir)) !== killed ? true : undefined
    })
    expect(await processesOn(dataDir)).not.toContain(backend)
  })

  test('stop() during its return stops it for good', async () => {
    const dataDir = await scratch()
    const server = await started(dataDir)
    process.kill(await postmasterPid(dataDir), 'SIGKILL')
    await server.stop()
    await nobodyLeft(dataDir)
    const next = await started(dataDir)
    expect(await query(next.connection, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  test('or its supervisor is, it comes back under another', async () => {
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

  test('a pid that now belongs to another process does not keep it from starting', async () => {
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
