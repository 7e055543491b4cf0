/** `/console`: the built web console, static files that are read once at startup. */
import { join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../../lib/problems.ts'
import type { Logger } from '../../observe/log.ts'
import { addRedirects } from '../redirects.ts'
import { chooseEncoding } from './accept-encoding.ts'
import { type ConsoleFile, type ConsoleFiles, readConsole } from './files.ts'

const CONTENT_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

/** Names in `assets/` hold a hash of the content. */
const CACHED_FOR_GOOD = 'public, max-age=31536000, immutable'
const REVALIDATED = 'no-cache'

const NOT_BUILT = 'The console is not built. Run `npm run build`, then restart the service.\n'

/** The build of this repository. */
export const BUILT_CONSOLE = join(import.meta.dirname, '../../../../../console/dist')

interface ConsoleOptions {
  /** The folder of the build. */
  folder: string
  /** The address that people open, which may have a path. */
  publicUrl: string
  log: Logger
}

/** Serves the console to everyone. `/` redirects to it. Without a build it answers 503. */
export async function addConsole(
  app: FastifyInstance,
  { folder, publicUrl, log }: ConsoleOptions,
): Promise<void> {
  const prefix = new URL(publicUrl).pathname.replace(/\/+$/, '')
  const files = await readConsole(folder, prefix)
  if (!files) log.warn({ folder }, 'console not built')
  addRedirects(app, { '/': 'console' })
  for (const url of ['/console', '/console/*'])
    app.get<{ Params: { '*'?: string } }>(url, { config: { isPage: true } }, (request, reply) => {
      reply.header('content-security-policy', CONTENT_POLICY)
      if (!files) return reply.code(503).type('text/plain; charset=utf-8').send(NOT_BUILT)
      const path = request.params['*'] ?? ''
      return sendFile(request, reply, findFile(files, path), cachingOf(path))
    })
}

/**
 * Returns the file at a path below `/console/`. Every page is index.html, whose script shows the page of the path.
 * @throws Problem 404 for a path that is neither that of a file nor of a page
 */
function findFile(files: ConsoleFiles, path: string): ConsoleFile {
  // Paths of pages have no dots. Two slashes could turn a relative address into that of another host.
  const isPage = !/^\/|\/\/|[.\\]/.test(path) && !/^assets(\/|$)/.test(path)
  const file = files.get(isPage ? 'index.html' : path)
  if (!file) throw new Problem('not_found', { detail: 'The console has no such file' })
  return file
}

const cachingOf = (path: string): string =>
  path.startsWith('assets/') ? CACHED_FOR_GOOD : REVALIDATED

function sendFile(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { type, etag, bodies }: ConsoleFile,
  caching: string,
): FastifyReply {
  reply.headers({ etag, 'cache-control': caching, vary: 'accept-encoding' })
  if (matches(headers['if-none-match'], etag)) return reply.code(304).send()
  const encoding = chooseEncoding(headers['accept-encoding'], bodies)
  if (encoding !== 'identity') reply.header('content-encoding', encoding)
  return reply.type(type).send(bodies.get(encoding))
}

/** Compares weakly, as `If-None-Match` demands (RFC 9110 §13.1.2). */
function matches(header: string | undefined, etag: string): boolean {
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '')
  const tags = header?.split(',').map(opaque) ?? []
  return tags.includes('*') || tags.includes(opaque(etag))
}
