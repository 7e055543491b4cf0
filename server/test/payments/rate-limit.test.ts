/** The rate limit of payment providers, which is separate from the limit of all other addresses. */
import { expect, test } from 'vitest'
import { settingsOf } from '../paygate/clinic.ts'
import { openPaygateApi } from '../support/paygate.ts'
import { openService } from '../support/service.ts'

const PATHS = ['/webhooks/cardnet', '/webhooks/paygate']

test.each(PATHS)('%s answers 429 above the limit PAYMENT_RATE_LIMIT_PER_MINUTE', async (path) => {
  const service = await openService({
    config: { ...settingsOf(await openPaygateApi()), PAYMENT_RATE_LIMIT_PER_MINUTE: 3 },
  })
  const statuses: number[] = []
  for (let call = 0; call < 4; call += 1)
    statuses.push((await service.call('POST', path, { payload: 'x' })).status)
  expect(statuses).toEqual([400, 400, 400, 429])
  const refused = await service.call('POST', path, { payload: 'x' })
  expect(refused).toMatchObject({ status: 429, body: { code: 'too_many_requests' } })
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  expect((await service.call('GET', '/healthz')).status).toBe(200)
})

test('the rate limit of other requests does not apply to payment notifications', async () => {
  const service = await openService({ config: { RATE_LIMIT_PER_MINUTE: 2 } })
  for (let call = 0; call < 5; call += 1)
    expect((await service.call('POST', '/webhooks/cardnet', { payload: 'x' })).status).toBe(400)
  const others = []
  for (let call = 0; call < 3; call += 1)
    others.push((await service.call('GET', '/api/users/me')).status)
  expect(others).toEqual([401, 401, 429])
})
