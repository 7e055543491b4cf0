/** Creates many users with SQL, because administrators' tokens would expire while tests wait. */
import { hash } from '@node-rs/argon2'
import { type Clinic, PASSWORD } from '../support/clinics.ts'
import type { Answer, Service } from '../support/service.ts'

let made = 0

export interface Someone {
  id: number
  email: string
}

/** Creates users of the clinic. All of them share one hash of the usual test password. */
export async function makePeople(
  service: Service,
  clinic: Pick<Clinic, 'id' | 'subdomain'>,
  count: number,
): Promise<Someone[]> {
  const hashed = await hash(PASSWORD, { memoryCost: 64, timeCost: 1, parallelism: 1 })
  made += 1
  return service.database.sql<{ id: number; email: string }>(
    `insert into users (tenant_id, email, full_name, role, password_hash, email_verified_at)
     select $1, format('user%s.%s@%s.test', $2::int, n, $3::text), 'User ' || n, 'nurse', $4, now()
     from generate_series(1, $5) as n returning id, email`,
    [clinic.id, made, clinic.subdomain, hashed, count],
  )
}

export async function makeSomeone(
  service: Service,
  clinic: Pick<Clinic, 'id' | 'subdomain'>,
): Promise<Someone> {
  const [one] = await makePeople(service, clinic, 1)
  if (!one) throw new Error('no user was made')
  return one
}

export interface Attempt {
  email: string
  password?: string
  /** The subdomain in the request, or null to name no tenant. */
  subdomain?: string | null
  /** The IP address that a trusted proxy reports. */
  from?: string
}

export function attempt(
  service: Service,
  { email, password = PASSWORD, subdomain = 'north', from }: Attempt,
): Promise<Answer> {
  return service.call('POST', '/api/auth/login', {
    body: { email, password, subdomain },
    ...(from ? { headers: { 'x-forwarded-for': from } } : {}),
  })
}

export const WRONG = 'wrong-Horse-9'

/** Sends wrong guesses until one is throttled. Returns the number of guesses, and the wait in seconds. */
export async function guessUntilRefused(
  guess: () => Promise<Answer>,
  most = 100,
): Promise<{ guesses: number; wait: number }> {
  for (let guesses = 0; guesses < most; guesses += 1) {
    const { status, headers } = await guess()
    if (status === 429) return { guesses, wait: Number(headers['retry-after']) }
    if (status !== 401) throw new Error(`a guess answered ${status}`)
  }
  throw new Error(`${most} guesses were let be`)
}

/** Returns the number of failed sign-ins in the journal. The service checked each of them against a hash. */
export async function checkedGuesses(service: Service): Promise<number> {
  const [row] = await service.database.sql<{ count: number }>(
    `select count(*)::int as count from journal where action = 'auth.login_failed'`,
  )
  return row?.count ?? 0
}
