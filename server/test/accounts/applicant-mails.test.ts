/** Notifies applicants by mail of the decision on their registration. */
import { beforeAll, describe, expect, it } from 'vitest'
import { mailsTo } from '../support/accounts.ts'
import { superadmin } from '../support/clinics.ts'
import { PUBLIC_URL } from '../support/open-service.ts'
import { confirmAddress } from '../support/people.ts'
import { openService, type Service } from '../support/service.ts'
import { newTenant, PROXIED, register, registerConfirmed } from './people.ts'

let service: Service
let token: string
let tenant: Awaited<ReturnType<typeof newTenant>>

beforeAll(async () => {
  service = await openService({ background: ['jobs'], config: PROXIED })
  token = (await superadmin(service)).token
  tenant = await newTenant(service, token, { registration: 'approval' })
})

const act = async (method: string, id: number, path = '') => {
  const answer = await service.call(method, `/api/admin/users/${id}${path}`, { token })
  expect([200, 204]).toContain(answer.status)
}
const unblock = (id: number) => act('POST', id, '/unblock')
const block = (id: number) => act('POST', id, '/block')
const remove = (id: number) => act('DELETE', id)

/** Returns the decision mails sent to the address once the outbox is empty. */
async function decisions(address: string) {
  await service.idle('jobs')
  const mails = await mailsTo(service, address)
  return mails.filter(({ subject = '' }) => subject.startsWith('Your registration'))
}
const subjects = async (address: string) => (await decisions(address)).map(({ subject }) => subject)

const APPROVED = 'Your registration was approved'
const REFUSED = 'Your registration was not approved'

describe('an applicant with a confirmed address', () => {
  it('receives one mail with a sign-in link when an administrator approves the account', async () => {
    const { id, email } = await registerConfirmed(service, tenant.subdomain)
    await unblock(id)
    await unblock(id)
    const [mail, ...more] = await decisions(email)
    expect(more).toEqual([])
    expect(mail?.subject).toBe(APPROVED)
    expect(mail?.text).toContain(`Clinic ${tenant.subdomain}`)
    expect(mail?.text?.split('\n')).toContain(`${PUBLIC_URL}/console/sign-in`)
    // The applicant entered the name, so it may be text chosen by a stranger.
    expect(mail?.text).not.toContain('Nováková')
  })

  it('receives one mail without a link when an administrator refuses the account', async () => {
    const { id, email } = await registerConfirmed(service, tenant.subdomain)
    await remove(id)
    const [mail, ...more] = await decisions(email)
    expect(more).toEqual([])
    expect(mail?.subject).toBe(REFUSED)
    expect(mail?.text).toContain(`Clinic ${tenant.subdomain}`)
    expect(mail?.text).not.toContain('://')
  })

  it('receives no mail about blocks, approvals and deletions after the first decision', async () => {
    const { id, email } = await registerConfirmed(service, tenant.subdomain)
    await unblock(id)
    await block(id)
    await unblock(id)
    await remove(id)
    expect(await subjects(email)).toEqual([APPROVED])
  })

  it('receives no mail about a block, because an administrator can undo it', async () => {
    const { id, email } = await registerConfirmed(service, tenant.subdomain)
    await block(id)
    await unblock(id)
    await remove(id)
    expect(await subjects(email)).toEqual([])
  })
})

describe('the service sends no mail', () => {
  it.each([
    ['approved', unblock],
    ['refused', remove],
  ])('to an applicant with an unconfirmed address who is %s', async (_, decide) => {
    const { id, email } = await register(service, tenant.subdomain)
    await decide(id)
    expect(await subjects(email)).toEqual([])
  })

  it('about an account that was never pending', async () => {
    const email = `made@${tenant.subdomain}.test`
    const { body } = await service.call('POST', '/api/admin/users', {
      token,
      body: {
        email,
        password: 'a-Fine-Secret-3',
        full_name: 'Made',
        role: 'nurse',
        tenant_id: tenant.id,
      },
    })
    await confirmAddress(service, body.id)
    await block(body.id)
    await unblock(body.id)
    await remove(body.id)
    expect(await subjects(email)).toEqual([])
  })
})
