/** Kills the service with SIGKILL during writes. Acknowledged writes are kept, and no process stays behind. */
import { expect, inject, test } from 'vitest'
import { query } from '../support/embedded.ts'
import { PLAIN, type RunningService, startService, tokenOf } from '../support/process.ts'
import { nobodyLeft } from '../support/processes.ts'
import { scratch } from '../support/scratch.ts'
import { until } from '../support/until.ts'

const ROUNDS = inject('chaos') === 'full' ? 20 : 5
/** How many writes each round acknowledges before the kill. */
const ENOUGH = 40

interface Written {
  departments: number[]
  users: number[]
}

/** Returns the tenant of an access token. */
const tenantOf = (token: string): number =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).tid

/** Writes until the connection breaks, recording the acknowledged writes. */
async function write(
  service: RunningService,
  token: string,
  path: 'departments' | 'users',
  writer: string,
  acknowledged: Written,
): Promise<void> {
  for (let count = 0; ; count++) {
    const name = `${path} ${service.pid} ${writer} ${count}`
    const body =
      path === 'departments'
        ? { name }
        : {
            email: `${name.replaceAll(' ', '-')}@platform.test`,
            password: 'correct-Horse-9',
            full_name: name,
            role: 'nurse',
            tenant_id: tenantOf(token),
          }
    const answer = await service
      .call('POST', `/api/admin/${path}`, { token, body })
      .catch(() => undefined)
    // The connection broke because the service was killed.
    if (!answer) return
    expect(answer).toMatchObject({ status: 201 })
    acknowledged[path].push(answer.body.id)
  }
}

test(`${ROUNDS} kills during writes lose no acknowledged write or journal entry, and leave no server`, {
  timeout: 480_000,
}, async () => {
  const dataDir = await scratch()
  const env = { ...PLAIN, DATA_DIR: dataDir, LOG_LEVEL: 'warn' }
  const acknowledged: Written = { departments: [], users: [] }
  let token: string | undefined
  for (let round = 1; round <= ROUNDS; round++) {
    const service = await startService(env)
    // Every round uses the token of the first round. The signing key outlives the kills, so the token stays valid.
    token ??= await tokenOf(service)
    const bearer = token
    const writers = [
      ...['a', 'b', 'c'].map((each) => write(service, bearer, 'departments', each, acknowledged)),
      ...['a', 'b'].map((each) => write(service, bearer, 'users', each, acknowledged)),
    ]
    const before = acknowledged.departments.length + acknowledged.users.length
    await until('enough was written', () =>
      acknowledged.departments.length + acknowledged.users.length > before + ENOUGH
        ? true
        : undefined,
    )
    service.signal('SIGKILL')
    await service.ended
    await Promise.all(writers)
    // The next round starts at once, even if the server of this round is still stopping.
  }

  const last = await startService(env)
  const database = {
    host: `${dataDir}/run`,
    port: 5432,
    user: 'wardkeep_owner',
    database: 'wardkeep',
  }
  for (const [table, action] of [
    ['departments', 'department.created'],
    ['users', 'user.created'],
  ] as const) {
    const kept = new Set(
      (await query<{ id: string }>(database, `select id from ${table}`)).map(({ id }) =>
        Number(id),
      ),
    )
    const journaled = new Set(
      (
        await query<{ resource_id: string }>(
          database,
          `select resource_id from journal where action = '${action}'`,
        )
      ).map(({ resource_id }) => Number(resource_id)),
    )
    expect(acknowledged[table].filter((id) => !kept.has(id))).toEqual([])
    // This includes commits without a response: every row has a journal entry, and every entry has a row.
    expect([...kept].sort()).toEqual([...journaled].sort())
  }
  expect(acknowledged.departments.length).toBeGreaterThan(ROUNDS)
  expect(acknowledged.users.length).toBeGreaterThan(ROUNDS)
  expect(await last.stop()).toEqual({ code: 0, signal: null })
  await nobodyLeft(dataDir)
})
