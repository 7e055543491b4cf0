/** Serves the built web console at `/console`. The static files are read once at startup. */
import { join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../../lib/problems.ts'
import type { Logger } from '../../observe/log.ts'
import { matchesEtag, NOT_MODIFIED } from '../etag.ts'
import { addRedirects } from '../pages.ts'
import { chooseEncoding } from './accept-encoding.ts'
import { type ConsoleFile, type ConsoleFiles, readConsole } from './files.ts'

const CONTENT_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

/** The caching of files in `assets/`. Their names contain a hash of the content, so browsers may cache them forever. */
const CACHED_FOR_GOOD = 'public, max-age=31536000, immutable'
const REVALIDATED = 'no-cache'

const NOT_BUILT = 'The console is not built. Run `npm run build`, then restart the service.\n'

/** The output folder of the console's build in this repository. */
export const BUILT_CONSOLE = join(import.meta.dirname, '../../../../../console/dist')

interface ConsoleOptions {
  folder: string
  /** The public address of the service. It may include a path. */
  publicUrl: string
  log: Logger
}

/** Serves the console to all visitors and redirects `/` to it. Answers 503 if the console is not built. */
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
 * Returns the file for a path below `/console/`, or index.html for a page path. @throws Problem 404 for any other path
 */
function findFile(files: ConsoleFiles, path: string): ConsoleFile {
  // Page paths contain no dots. A double slash could make a relative link point to another host.
  const isPage = !/^\/|\/\/|[.\\]/.test(path) && !/^assets(\/|$)/.test(path)
  const file = files.get(isPage ? 'index.html' : path)
  if (!file) throw new Problem('not_found', { detail: 'No such file' })
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
  if (matchesEtag(headers['if-none-match'], etag)) return reply.code(NOT_MODIFIED).send()
  const encoding = chooseEncoding(headers['accept-encoding'], bodies)
  if (encoding !== 'identity') reply.header('content-encoding', encoding)
  return reply.type(type).send(bodies.get(encoding))
}
