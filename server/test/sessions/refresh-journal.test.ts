/** Refreshes write a journal entry and notify other nodes only when a token is rotated. */
import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { renewing } from '../../src/features/auth/sessions/renewal.ts'
import { sessionStates } from '../../src/features/auth/sessions/session-states.ts'
import { accessTokens } from '../../src/features/auth/tokens/access-tokens.ts'
import { systemTime } from '../../src/lib/time.ts'
import { newToken } from '../../src/platform/crypto/index.ts'
import { openScopes } from '../../src/platform/db/index.ts'
import { createRateLimiter } from '../../src/platform/throttle/index.ts'
import { atTheEnd } from '../support/cleanup.ts'
import { type Clinic, makeClinic, superadmin } from '../support/clinics.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, type Service } from '../support/service.ts'
import { unheard } from './scopes.ts'
import { jtiOf, newColleague } from './users.ts'

let service: Service
let clinic: Clinic

beforeAll(async () => {
  service = await openService()
  clinic = await makeClinic(service, await superadmin(service), 'north')
})

const entries = () =>
  service.database.sql(`select tenant_id, user_id, user_email, resource_type, resource_id, changes,
      ip, user_agent, request_id
    from journal where action = 'auth.token_refreshed' order by id`)

test('a refresh with an unknown token notifies nobody and journals nothing', async () => {
  const told: string[] = []
  const changes = { ...unheard, notify: (topic: string) => void told.push(topic) }
  const db = openScopes(service.database.address, {
    clock: systemTime,
    size: 2,
    changes,
    log: silentLog,
  })
  atTheEnd(() => db.close())
  const { clock } = service
  const renewal = renewing({
    db,
    clock,
    states: sessionStates(db, unheard, 0),
    access: accessTokens(service.app.features.auth.keys, clock, 'http://wardkeep.test'),
    rotations: createRateLimiter(0),
  })
  const origin = { ip: '192.0.2.7', user_agent: null, request_id: randomUUID() }
  const before = await entries()
  for (let round = 0; round < 3; round += 1)
    await expect(renewal.refresh(newToken(clinic.id).text, origin)).rejects.toMatchObject({
      code: 'invalid_refresh_token',
    })
  expect([told, await entries()]).toEqual([[], before])
  const person = await newColleague(service, clinic)
  await renewal.refresh(person.refresh, origin)
  expect(told).toEqual(['journal'])
  expect(await entries()).toHaveLength(before.length + 1)
})

test('a refresh journals the user, the session and the source', async () => {
  const person = await newColleague(service, clinic)
  const answer = await service.call('POST', '/api/auth/refresh', {
    body: { refresh_token: person.refresh },
    headers: { 'user-agent': 'a browser' },
  })
  expect((await entries()).at(-1)).toEqual({
    tenant_id: clinic.id,
    user_id: person.id,
    user_email: null,
    resource_type: 'session',
    resource_id: jtiOf(person.token),
    changes: null,
    ip: '127.0.0.1',
    user_agent: 'a browser',
    request_id: answer.headers['x-request-id'],
  })
})
