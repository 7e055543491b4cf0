/** Pasted values of a webhook: a secret with extra characters, and a URL that refers to the user's own machine. */
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { expect, onTestFinished, test } from 'vitest'
import { makeClinic, superadmin } from '../support/clinics.ts'
import { openService } from '../support/service.ts'

const GOOD = `whsec_${randomBytes(32).toString('base64')}`

async function openRegistrar(config: object = {}) {
  const strict = { WEBHOOK_ALLOW_HTTP: false, WEBHOOK_ALLOWED_NETWORKS: [] }
  const service = await openService({ config: { ...strict, ...config } })
  const { people } = await makeClinic(service, await superadmin(service), 'pasting')
  const { token } = people.admin
  return {
    token,
    service,
    register: (body: object) =>
      service.call('POST', '/api/webhooks/register', {
        token,
        body: { url: 'https://example.org/hook', events: ['department.created'], ...body },
      }),
  }
}

test('a pasted webhook secret with surrounding characters is rejected, at registration and in a change', async () => {
  const { service, token, register } = await openRegistrar()
  const { body } = await register({})
  for (const [around, secret] of [
    ['a blank in front', ` ${GOOD}`],
    ['a blank behind', `${GOOD} `],
    ['a newline', `\n${GOOD}`],
    ['a tab', `${GOOD}\t`],
    ['quotes', `"${GOOD}"`],
    ['a no-break space', `\u00a0${GOOD}`],
    ['a byte-order mark', `\ufeff${GOOD}`],
    ['a zero-width space', `${GOOD}\u200b`],
    ['a name', `SECRET=${GOOD}`],
    ['capitals', GOOD.replace('whsec_', 'WHSEC_')],
    ['blanks alone', ' '.repeat(16)],
    ['quotes around another text', `'${'x'.repeat(20)}'`],
  ]) {
    const put = service.call('PUT', `/api/webhooks/${body.id}`, { token, body: { secret } })
    for (const { status, body: refused } of [await register({ secret }), await put]) {
      expect([around, status, refused.detail?.[0]?.loc]).toEqual([around, 422, ['body', 'secret']])
      expect(JSON.stringify(refused)).not.toContain(GOOD.slice(6))
    }
  }
  expect((await register({ secret: GOOD })).status).toBe(201)
  expect((await register({ secret: 'a plain text with blanks' })).status).toBe(201)
})

test('the error for a refused webhook address names the variables that would allow the address', async () => {
  const { register } = await openRegistrar()
  for (const url of ['http://127.0.0.1:9000/', 'http://example.org/', 'https://10.0.0.1/'])
    expect((await register({ url })).body.detail[0].msg).toMatch(
      /WEBHOOK_ALLOW_HTTP and WEBHOOK_ALLOWED_NETWORKS$/,
    )
  expect((await register({ url: 'https://' })).body.detail[0].msg).not.toContain('WEBHOOK_')
})

test('in demo mode, webhooks are delivered to a receiver on the same computer', async () => {
  const { service, token, register } = await openRegistrar({ DEMO: true })
  let received: { headers: object; body: string } | undefined
  const receiver = createServer(async (request, response) => {
    received = { headers: request.headers, body: (await request.toArray()).join('') }
    response.end()
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void receiver.close())
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
  const { body } = await register({ url, secret: GOOD })
  const sent = await service.call('POST', `/api/webhooks/${body.id}/test`, { token })
  expect(sent.body).toMatchObject({ delivered: true })
  new Webhook(GOOD).verify(received?.body ?? '', received?.headers as Record<string, string>)
})
