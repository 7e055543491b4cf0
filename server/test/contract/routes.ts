/** Lists the routes that Fastify serves, from its printed route tree. */
import type { App } from '../../src/app.ts'

const LINE = /^((?:│ {3}| {4})*)[├└]── (\S+)(?: \(([A-Z, ]+)\))?$/

/** The console, the documentation, and redirects from former addresses of pages. */
const PAGES = /^\/($|console|docs|verify-email$|reset-password$|invitation$)/

/** Returns `METHOD path` of every route except the pages, with `{name}` for parameters. */
export function servedRoutes(app: App): string[] {
  const branch: string[] = []
  const routes: string[] = []
  for (const line of app.server.printRoutes().trimEnd().split('\n')) {
    const [, indent = '', part = '', methods] = LINE.exec(line) ?? []
    if (part === '') throw new Error(`a line that cannot be read: ${line}`)
    const depth = indent.length / 4
    branch.splice(depth, branch.length, part)
    // A shared beginning of several paths, which has no route.
    if (methods === undefined) continue
    const path = branch
      .join('')
      .replaceAll(/:(\w+)/g, '{$1}')
      .replace(/\/tile\/\*$/, '/tile/{tile}')
    if (PAGES.test(path)) continue
    routes.push(...methods.split(', ').map((method) => `${method} ${path}`))
  }
  return routes
}
