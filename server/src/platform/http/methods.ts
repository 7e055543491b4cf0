/** Answers unsupported methods of known paths (RFC 9110 §15.5.6), and OPTIONS requests (§9.3.7). */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../lib/problems.ts'

interface KnownPath {
  pattern: RegExp
  methods: Set<string>
}

/**
 * Rejects requests without a route before their body is read: 405 with `Allow`, 404, or 204 for OPTIONS. Runs before
 * authentication, because `/openapi.json` is public. @param hasCors true if the CORS plugin answers preflights
 */
export function answerOtherMethods(app: FastifyInstance, hasCors: boolean): void {
  const paths = new Map<string, KnownPath>()
  app.addHook('onRoute', ({ url, method }) => {
    const known = paths.get(url) ?? { pattern: patternOf(url), methods: new Set(['OPTIONS']) }
    for (const one of [method].flat()) known.methods.add(one)
    paths.set(url, known)
  })

  const methodsOf = (path: string): string[] => {
    const found = [...paths.values()].filter(({ pattern }) => pattern.test(path))
    return [...new Set(found.flatMap(({ methods }) => [...methods]))].sort()
  }

  app.addHook('onRequest', (request, reply, done) => {
    if (hasCors && isPreflight(request)) return done()
    if (!request.is404 && request.method !== 'OPTIONS') return done()
    const methods = methodsOf(pathOf(request))
    if (methods.length === 0)
      return done(new Problem('not_found', { detail: 'No such operation. See /docs.' }))
    reply.header('allow', methods.join(', '))
    if (request.method !== 'OPTIONS') return done(new Problem('method_not_allowed'))
    sendNothing(reply)
  })
}

function sendNothing(reply: FastifyReply): void {
  void reply.code(204).send()
}

const isPreflight = ({ method, headers }: FastifyRequest): boolean =>
  method === 'OPTIONS' && headers['access-control-request-method'] !== undefined

const pathOf = ({ url }: FastifyRequest): string => url.split('?', 1)[0] ?? ''

/** Converts a Fastify path into a pattern. `:name` matches one segment, and `*` at the end matches the rest. */
const patternOf = (url: string): RegExp =>
  url === '*'
    ? /^(?!)/
    : new RegExp(
        `^${url
          .replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
          .replaceAll(/:\w+/g, '[^/]+')
          .replace(/\\\*$/, '.*')}$`,
      )

/** Removes trailing slashes, so that `/api/admin/users/` means the collection and not a user with an empty id. */
export function withoutTrailingSlash(url: string): string {
  if (!url.startsWith('/api/')) return url
  const mark = url.indexOf('?')
  const path = mark === -1 ? url : url.slice(0, mark)
  let end = path.length
  while (path[end - 1] === '/') end -= 1
  return path.slice(0, end) + url.slice(path.length)
}
