/** PostgreSQL URLs with one or several hosts, in the syntax of libpq. */

/** The URL parameters that the driver understands and that the service does not set itself. */
const PARAMETERS: ReadonlySet<string> = new Set([
  'host',
  'port',
  'user',
  'password',
  'ssl',
  'sslmode',
  'sslcert',
  'sslkey',
  'sslrootcert',
  'sslnegotiation',
  'uselibpqcompat',
  'options',
])
const TARGET = 'target_session_attrs'
/**
 * Values of `target_session_attrs` with the same effect here, because the service needs a server that accepts writes.
 */
const TARGETS: ReadonlySet<string> = new Set(['any', 'read-write', 'primary'])

const EXAMPLE = 'postgres://user:password@host:5432/database'
const PARTS = /^(?<scheme>postgres(?:ql)?:\/\/)(?<authority>[^/?#]*)(?<rest>.*)$/s

/** Returns a URL for each host, in the given order. @throws Error with the reason, without the password */
export function urlsOfHosts(text: string): [string, ...string[]] {
  const { scheme, authority, rest } = PARTS.exec(text)?.groups ?? {}
  if (scheme === undefined || authority === undefined || rest === undefined) throw invalid()
  // An unencoded `/`, `?` or `#` ends the authority. An error could then show the rest of the password.
  if (!authority.includes('@') && rest.includes('@')) throw invalid()
  const user = authority.slice(0, authority.lastIndexOf('@') + 1)
  const hosts = authority.slice(user.length).split(',')
  const [first, ...others] = hosts.map((host) => urlOf(`${scheme}${user}${host}${rest}`))
  if (first === undefined || (others.length > 0 && hosts.includes(''))) throw invalid()
  return [first, ...others]
}

/** @throws Error that names the first parameter that is not supported */
export function requireSupported(text: string): void {
  const [first] = urlsOfHosts(text)
  if (new URL(first).searchParams.get('host')?.includes(','))
    throw new Error(
      'must list its hosts before the database name: postgres://user@one,two/database',
    )
  const { rest = '' } = PARTS.exec(text)?.groups ?? {}
  for (const [name, value] of new URL(rest, 'postgres://host/').searchParams) {
    if (name === TARGET && !TARGETS.has(value))
      throw new Error(
        `${TARGET} must be one of ${[...TARGETS].join(', ')}, because the service needs write access`,
      )
    if (name !== TARGET && !PARAMETERS.has(name))
      throw new Error(
        `has the unsupported parameter ${name}. Remove it (supported: ${[...PARAMETERS, TARGET].join(', ')})`,
      )
  }
}

function urlOf(text: string): string {
  if (!URL.canParse(text)) throw invalid()
  const url = new URL(text)
  for (const name of [...url.searchParams.keys()])
    if (!PARAMETERS.has(name)) url.searchParams.delete(name)
  return url.href
}

const invalid = () => new Error(`must be a URL such as ${EXAMPLE}`)
