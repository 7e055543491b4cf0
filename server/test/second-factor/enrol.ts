/** Helpers to set up a second factor and sign in with it. */
import { codeOf } from '../support/accounts.ts'
import { PASSWORD, type Person } from '../support/clinics.ts'
import type { Answer, Service } from '../support/service.ts'

/** The duration of a code's time step. */
export const STEP = 30_000

export const PASSWORD_MISSING = {
  loc: ['body', 'password'],
  msg: 'Field required',
  type: 'missing',
}

export interface Enrolled {
  secret: string
  recovery: string[]
}

/** Moves the clock to the start of a time step, so that the whole test runs within the step. */
export function alignClock(service: Service): void {
  service.clock.advance(STEP - (service.clock.now() % STEP) + 1_000)
}

/** Requests a secret. By default sends the password. */
export function setUp(
  service: Service,
  token: string,
  body: object | null = { password: PASSWORD },
): Promise<Answer> {
  return service.call('POST', '/api/auth/totp/setup', { token, ...(body ? { body } : {}) })
}

/** Returns the offered secret. @throws Error when the service offers no secret */
export async function offered(service: Service, token: string): Promise<string> {
  const answer = await setUp(service, token)
  if (answer.status !== 200) throw new Error(`setup answered ${answer.status}`)
  return answer.body.secret
}

export function enable(service: Service, token: string, code: string): Promise<Answer> {
  return service.call('POST', '/api/auth/totp/enable', { token, body: { code } })
}

/** Sets up a second factor. Afterwards the clock is in the next time step, whose code has not been used. */
export async function enrol(service: Service, token: string): Promise<Enrolled> {
  const secret = await offered(service, token)
  const answer = await enable(service, token, codeOf(service, secret))
  if (answer.status !== 200) throw new Error(`enable answered ${answer.status}`)
  service.clock.advance(STEP)
  return { secret, recovery: answer.body.recovery_codes }
}

/** Tries to sign in a user of the clinic from the IP address `from`, behind a trusted proxy. */
export function login(
  service: Service,
  { email }: Pick<Person, 'email'>,
  {
    from,
    ...fields
  }: { totp_code?: string | null; password?: string; from?: string; subdomain?: string } = {},
): Promise<Answer> {
  const subdomain = /@(.*)\.test$/.exec(email)?.[1] ?? ''
  return service.call('POST', '/api/auth/login', {
    body: { email, password: PASSWORD, subdomain, ...fields },
    ...(from ? { headers: { 'x-forwarded-for': from } } : {}),
  })
}
