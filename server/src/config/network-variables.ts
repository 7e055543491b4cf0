import { integer, listIn, variable } from './variable.ts'

export const NETWORK_VARIABLES = {
  TRUSTED_PROXIES: variable({
    meaning:
      'Number of reverse proxies whose `X-Forwarded-For` is trusted. With 0 behind a proxy, all callers share its address and its rate limit.',
    default: '0',
    read: integer(0, 0, 10),
  }),
  CORS_ORIGINS: variable({
    meaning: 'Origins that may call the API from a browser, separated by commas',
    default: 'none',
    read: (text = '') => origins(text),
  }),
  RATE_LIMIT_PER_MINUTE: variable({
    meaning: 'Requests per minute from one address. 0 means no limit.',
    default: '6000',
    read: integer(6000, 0, 10_000_000),
  }),
  AUTH_RATE_LIMIT_PER_MINUTE: variable({
    meaning:
      'Sign-ins, registrations and requested links per minute from one address, counted separately. 0 means no limit.',
    default: '600',
    read: integer(600, 0, 10_000_000),
  }),
  WRITE_RATE_LIMIT_PER_MINUTE: variable({
    meaning: 'Changes per minute by one user. 0 means no limit.',
    default: '3000',
    read: integer(3000, 0, 10_000_000),
  }),
  TENANT_WRITE_RATE_LIMIT_PER_MINUTE: variable({
    meaning: 'Changes per minute by all users of one tenant. 0 means no limit.',
    default: '12000',
    read: integer(12_000, 0, 10_000_000),
  }),
}

function origins(text: string): string[] {
  const listed = listIn(text)
  for (const origin of listed)
    if (!URL.canParse(origin) || new URL(origin).origin !== origin)
      throw new Error(`"${origin}" is not an origin. Write it as https://console.example.org`)
  return listed
}
