/**
 * An account that a stranger prepared with someone else's address belongs to the owner once they accept an invitation.
 */
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { openScene, type Scene } from '../messenger/scene.ts'
import { enrol } from '../second-factor/enrol.ts'
import { fresh } from '../sessions/users.ts'
import { mailedToken, mailsTo } from '../support/accounts.ts'
import { PASSWORD, type Person, personOf, superadmin } from '../support/clinics.ts'
import { untilRead } from '../support/journal.ts'
import type { Service } from '../support/service.ts'
import {
  actionsAbout,
  askForLink,
  login,
  newTenant,
  PROXIED,
  register,
  resetPassword,
  verifyEmail,
} from './people.ts'

const RENEWED = 'renewed-Horse-72'
/** Text that the stranger enters as a name. It contains no URL. */
const WORDS = 'Your account is locked. Call +1 555 0100 now'

let scene: Scene
let service: Service
let subdomain: string
let root: Person
let stranger: Person
let chat = 8_300

beforeAll(async () => {
  scene = await openScene({ config: PROXIED })
  service = scene.service
  root = await superadmin(service)
  subdomain = (await newTenant(service, root.token, { registration: 'open' })).subdomain
})

/** Signs a stranger in to an account that they created with someone else's address. */
beforeEach(async () => {
  const email = `${fresh('owner')}@elsewhere.test`
  await register(service, subdomain, { email, full_name: WORDS })
  const { body } = await login(service, email, subdomain)
  stranger = personOf(body, { email, password: PASSWORD })
})

/** Adds a second factor and a chat, which would lock the owner out. Returns the stranger's chat. */
async function prepare(): Promise<number> {
  chat += 1
  await scene.link(stranger, chat)
  stranger.token = (await login(service, stranger.email, subdomain)).body.access_token
  await enrol(service, stranger.token)
  return chat
}

/** Accepts an administrator's invitation as the owner of the address, who chooses a password. */
async function accept(): Promise<void> {
  const path = `/api/admin/users/${stranger.id}/invitation`
  expect((await service.call('POST', path, { token: root.token })).status).toBe(200)
  const token = await mailedToken(service, stranger.email, 'invitation')
  expect((await resetPassword(service, token, RENEWED)).status).toBe(200)
}

async function reset(): Promise<void> {
  await askForLink(service, 'request-reset', stranger.email, subdomain)
  const token = await mailedToken(service, stranger.email, 'reset-password')
  expect((await resetPassword(service, token, RENEWED)).status).toBe(200)
}

const signInRenewed = () => login(service, stranger.email, subdomain, RENEWED)
const notices = async () => {
  await service.idle('jobs')
  const mails = await mailsTo(service, stranger.email)
  return mails.filter(({ subject }) => subject === 'Your password was changed')
}

test('accepting an invitation removes a second factor and chat that a stranger set up, and journals each removal', async () => {
  const theirs = await prepare()
  const before = await actionsAbout(service, stranger.id)
  await accept()
  const answer = await signInRenewed()
  expect(answer).toMatchObject({ status: 200, body: { user_id: stranger.id } })
  await scene.heard(theirs, 'no longer linked')
  const owner = personOf(answer.body, { email: stranger.email, password: RENEWED })
  expect(await scene.call('GET', '/status', owner)).toMatchObject({ body: { linked: false } })
  const since = (await actionsAbout(service, stranger.id)).slice(before.length)
  expect(since).toEqual([
    'user.invited',
    'auth.totp_disabled',
    'messenger.unlinked',
    'user.email_verified',
    'user.password_changed',
  ])
  const left = await service.database.sql(
    `select from second_factors where user_id = $1 union all
     select from recovery_codes where user_id = $1`,
    [stranger.id],
  )
  expect(left).toEqual([])
})

test("a stranger's chat is not notified of events after the owner has accepted the invitation", async () => {
  const theirs = await prepare()
  await accept()
  await scene.heard(theirs, 'no longer linked')
  expect((await signInRenewed()).status).toBe(200)
  await untilRead(service.database, 'messenger')
  const waiting = await service.database.sql('select from messenger_notices')
  expect(waiting).toEqual([])
  expect(scene.bot.textsTo(theirs).join('\n')).not.toMatch(/password (of .*)?was changed/)
})

test("mails to the owner contain neither a stranger's text nor a mention of the stranger's second factor or chat", async () => {
  await prepare()
  await accept()
  expect(await notices()).toHaveLength(1)
  const mails = await mailsTo(service, stranger.email)
  for (const { subject, text, html } of mails) {
    expect(`${subject} ${text} ${html}`).not.toContain('Call')
    expect(subject).not.toMatch(/second factor|chat/)
  }
})

test('accepting an invitation keeps the second factor and chat if the address was already confirmed', async () => {
  const link = await mailedToken(service, stranger.email, 'verify-email')
  expect((await verifyEmail(service, link, { password: PASSWORD })).status).toBe(200)
  await prepare()
  await reset()
  expect(await signInRenewed()).toMatchObject({ status: 401, body: { code: 'totp_required' } })
  const links = 'select from messenger_links where user_id = $1'
  expect(await service.database.sql(links, [stranger.id])).toHaveLength(1)
  const [notice] = await notices()
  expect(notice?.text).toContain(`Hello ${WORDS},`)
})
