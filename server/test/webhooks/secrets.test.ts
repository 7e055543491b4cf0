/** Webhook secrets are returned once and encrypted at rest. While a secret is replaced, every signature stays valid. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { deleteExpiredSecrets } from '../../src/features/webhooks/webhooks.jobs.ts'
import { DAY, HOUR, MINUTE } from '../../src/lib/clock.ts'
import { makeClinic, superadmin } from '../support/clinics.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'
import { clinicOn, openClinic, type WebhookClinic } from './clinic.ts'

let at: WebhookClinic
let receiver: Receiver

beforeAll(async () => {
  at = await openClinic()
})

beforeEach(async () => {
  receiver = await openReceiver({ clock: at.service.clock })
})

const secretOf = (word: string) => `the secret number ${word}`
const replace = (id: number, secret: string) => at.call('PUT', `/${id}`, { body: { secret } })

/**
 * Returns the number of signatures of a message.
 * @param secret must verify the message
 * @param not must not verify it
 */
async function signatures(id: number, secret: string, not?: string): Promise<number> {
  const { body } = await at.call('POST', `/${id}/test`)
  expect(body).toMatchObject({ delivered: true })
  const message = receiver.received.slice(-1)
  expect(receiver.verifyWith(secret, message)).toMatchObject([{ type: 'webhook.test' }])
  if (not) expect(() => receiver.verifyWith(not, message)).toThrow('No matching signature')
  return message[0]?.headers['webhook-signature']?.split(' ').length ?? 0
}

const rowsOf = (id: number) =>
  at.service.database.sql(
    'select expires_at from webhook_secrets where webhook_id = $1 order by expires_at nulls first',
    [id],
  )

describe('a webhook secret', () => {
  test('is generated if the request contains none, is returned once, and signs messages', async () => {
    const { id, secret } = await at.register({ url: receiver.url })
    expect(await signatures(id, secret)).toBe(1)
    expect(JSON.stringify((await at.call('GET')).body)).not.toContain('whsec_')
    for (const body of [{ events: ['user.*'] }, { secret: secretOf('another') }])
      expect((await at.call('PUT', `/${id}`, { body })).body).not.toHaveProperty('secret')
  })

  test.each([secretOf('mine'), 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'Schlüssel: 漢字 👩‍⚕️!'])(
    'chosen as %j is not returned, and signs messages',
    async (secret) => {
      const made = await at.register({ url: receiver.url, secret })
      expect(made).not.toHaveProperty('secret')
      expect(await signatures(made.id, secret, secretOf('nobody'))).toBe(1)
    },
  )

  test('also signs for 24 hours after its replacement', async () => {
    const { id, secret: old } = await at.register({ url: receiver.url })
    await replace(id, secretOf('today'))
    expect(await signatures(id, old)).toBe(2)
    expect(await signatures(id, secretOf('today'))).toBe(2)
    at.service.clock.advance(DAY - MINUTE)
    expect(await signatures(id, old)).toBe(2)
    at.service.clock.advance(2 * MINUTE)
    expect(await signatures(id, secretOf('today'), old)).toBe(1)
  })

  test('can be revoked within 24 hours after its replacement, together with all older secrets', async () => {
    const { id, secret: old } = await at.register({ url: receiver.url })
    await replace(id, secretOf('yesterday'))
    await replace(id, secretOf('today'))
    expect(await signatures(id, old)).toBe(3)
    const withdraw = () => at.call('DELETE', `/${id}/secrets/previous`)
    expect((await withdraw()).status).toBe(204)
    expect(await signatures(id, secretOf('today'), old)).toBe(1)
    expect(await signatures(id, secretOf('today'), secretOf('yesterday'))).toBe(1)
    expect(await rowsOf(id)).toEqual([{ expires_at: null }])
    const [entry] = (await at.entriesOf(id)).filter(({ action }) => action.includes('withdrawn'))
    expect(entry).toMatchObject({ action: 'webhook.secrets_withdrawn', changes: null })
    // There is no old secret left to revoke, as for a webhook whose secret was never replaced.
    expect((await withdraw()).status).toBe(404)
    expect((await at.call('DELETE', '/999999/secrets/previous')).status).toBe(404)
  })

  test('is unchanged if the same secret is set, even in another spelling', async () => {
    const secret = `whsec_${Buffer.alloc(25, 7).toString('base64')}`
    const { id } = await at.register({ url: receiver.url, secret })
    await replace(id, secret)
    await replace(id, secret.replace(/=+$/, ''))
    expect(await rowsOf(id)).toEqual([{ expires_at: null }])
    expect(await at.entriesOf(id)).toHaveLength(1)
  })

  test('counts as different even if only bytes that are not valid UTF-8 differ', async () => {
    const [one, other] = [0xff, 0xfe].map((byte) => Buffer.alloc(32, byte).toString('base64'))
    const { id } = await at.register({ url: receiver.url, secret: `whsec_${one}` })
    await replace(id, `whsec_${other}`)
    expect(await rowsOf(id)).toHaveLength(2)
    expect(await signatures(id, `whsec_${other}`)).toBe(2)
  })

  test('becomes current again if it is set again, and signs each message once', async () => {
    const { id } = await at.register({ url: receiver.url, secret: secretOf('monday') })
    await replace(id, secretOf('tuesday'))
    at.service.clock.advance(HOUR)
    await replace(id, secretOf('monday'))
    expect(await signatures(id, secretOf('monday'))).toBe(2)
    at.service.clock.advance(DAY + MINUTE)
    expect(await signatures(id, secretOf('monday'), secretOf('tuesday'))).toBe(1)
  })

  test('can be replaced if it can no longer be decrypted', async () => {
    const { id } = await at.register({ url: receiver.url })
    await at.service.database.sql(
      "update webhook_secrets set sealed_secret = sealed_secret || '\\x00' where webhook_id = $1",
      [id],
    )
    expect((await replace(id, secretOf('mended'))).status).toBe(200)
    expect(await signatures(id, secretOf('mended'))).toBe(1)
  })
})

describe('an earlier webhook secret after several replacements', () => {
  test('also signs if it is among the latest nine', async () => {
    const { id } = await at.register({ url: receiver.url, secret: secretOf('0') })
    for (let turn = 1; turn <= 12; turn += 1) {
      at.service.clock.advance(MINUTE)
      await replace(id, secretOf(String(turn)))
    }
    expect(await signatures(id, secretOf('12'), secretOf('2'))).toBe(10)
    expect(await signatures(id, secretOf('3'))).toBe(10)
    expect(await rowsOf(id)).toHaveLength(10)
  })

  test('stays valid beside the current secret when several secrets are set concurrently', async () => {
    const { id } = await at.register({ url: receiver.url })
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => replace(id, secretOf(`racer ${index}`))),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200))
    const rows = await rowsOf(id)
    expect(rows).toHaveLength(9)
    expect(rows.filter(({ expires_at }) => expires_at === null)).toHaveLength(1)
  })

  test('is deleted once it no longer signs', async () => {
    const { id } = await at.register({ url: receiver.url })
    await replace(id, secretOf('today'))
    at.service.clock.advance(DAY + MINUTE)
    const { db } = at.service.app
    await deleteExpiredSecrets({ db, clock: at.service.clock }, new AbortController().signal)
    expect(await rowsOf(id)).toEqual([{ expires_at: null }])
  })
})

describe('a change of a webhook secret', () => {
  test('is journaled as a change, without the old or the new secret', async () => {
    const { id } = await at.register({ url: receiver.url })
    await replace(id, secretOf('today'))
    const [, entry] = await at.entriesOf(id)
    expect(entry).toMatchObject({
      action: 'webhook.updated',
      changes: { before: {}, after: {}, secret: 'changed' },
    })
  })
})

describe('a stored webhook', () => {
  /** Returns every row of every table as text, with bytes in hex. */
  async function everything(): Promise<string> {
    const { sql } = at.service.database
    const tables = await sql<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
       where schemaname not in ('pg_catalog', 'information_schema')`,
    )
    const texts: string[] = []
    for (const { name } of tables)
      texts.push(
        ...(await sql(`select t::text as row from ${name} t`)).map(({ row }) => String(row)),
      )
    return texts.join('\n')
  }

  const HIDDEN = 'path-with-a-token-8f3a'

  beforeAll(async () => {
    const quiet = await openReceiver({ clock: at.service.clock })
    const url = quiet.url.replace('/hook', `/${HIDDEN}?key=${HIDDEN}`)
    const { id } = await at.register({ url, secret: secretOf('the table') })
    await replace(id, secretOf('the log'))
    await at.call('POST', `/${id}/test`)
    quiet.answerWith(() => 'reset')
    await at.call('POST', `/${id}/test`)
    await at.call('PUT', `/${id}`, { body: { is_active: false, url: `${url}&again` } })
    await at.call('POST', '/register', { body: { url: `ftp://${HIDDEN}/`, events: [] } })
    await at.call('POST', `/${id}/replay`, { body: { since: new Date().toISOString() } })
  })

  test('has no secret in plain text in any table or in the log', async () => {
    const text = await everything()
    expect(text).toContain(HIDDEN)
    const made = (await at.register()).secret
    const logged = JSON.stringify(at.service.logged)
    for (const secret of [secretOf('the table'), secretOf('the log'), made]) {
      const key = secret.replace('whsec_', '')
      for (const place of [text, logged]) {
        expect(place).not.toContain(key)
        expect(place).not.toContain(Buffer.from(key).toString('hex'))
        expect(place).not.toContain(Buffer.from(key, 'base64').toString('hex'))
      }
    }
  })

  test('has no path of its URL in the log or the journal', async () => {
    const rows = await at.service.database.sql('select j::text as row from journal j')
    expect(rows.length).toBeGreaterThan(0)
    for (const { row } of rows) expect(row).not.toContain(HIDDEN)
    expect(JSON.stringify(at.service.logged)).not.toContain(HIDDEN)
  })

  test('has a secret that decrypts only for its own tenant', async () => {
    const { service } = at
    const south = clinicOn(service, await makeClinic(service, await superadmin(service), 'south'))
    const mine = await at.register({ url: receiver.url })
    const theirs = await south.register({ url: receiver.url })
    await service.database.sql(
      `update webhook_secrets t set sealed_secret = m.sealed_secret from webhook_secrets m
       where t.webhook_id = $1 and m.webhook_id = $2`,
      [theirs.id, mine.id],
    )
    expect((await south.call('POST', `/${theirs.id}/test`)).status).toBe(500)
    expect(receiver.received).toEqual([])
  })
})
