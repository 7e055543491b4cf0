/** What `wardkeep self-healing` does. */
import type { App } from '../app.ts'
import { Problem } from '../lib/problems.ts'
import { StartupError } from '../lib/startup-error.ts'
import { withApp } from './service.ts'

type Scan = NonNullable<Awaited<ReturnType<App['features']['selfHealing']['scan']>>>
type Scanned = Scan['fixes'][number]

/** Beside a running service, or without one. Ends with 1 where something is left, or nobody looked. */
export function scan({ json = false }: { json?: boolean }): Promise<void> {
  return withApp(async (app) => {
    const done = await app.features.selfHealing.scan()
    if (!done || done.fixes.some(isLeft)) process.exitCode = 1
    if (json) return JSON.stringify(done ?? null)
    return done ? inWords(done) : 'Another scan is under way; nothing was looked at.'
  }, true)
}

/** Confirms a fix, also while the service runs. @throws StartupError for an unknown fix, or one that is not proposed */
export function confirm(key: string): Promise<void> {
  return withApp(async ({ features }) => {
    const fix = await features.selfHealing.service.confirmByKey(key).catch((error: unknown) => {
      throw error instanceof Problem ? new StartupError(`${key}: ${error.message}.`) : error
    })
    if (fix.status === 'failed') process.exitCode = 1
    return line(fix)
  }, true)
}

const isLeft = ({ occurrences, unknown }: Scanned) => occurrences > 0 || unknown !== null

function inWords({ fixes, duration_ms }: Scan): string {
  const told = fixes.filter((fix) => isLeft(fix) || fix.result).map(line)
  const looked = `${fixes.length} faults were looked for in ${duration_ms} ms`
  return told.length === 0 ? `${looked}, and none was found.` : [`${looked}:`, ...told].join('\n')
}

function line({ key, title, status, occurrences, reason, unknown, result }: Scanned): string {
  const parts = [
    occurrences > 0 ? `${occurrences} found, ${status === 'idle' ? 'for people' : status}` : '',
    result ? `${result.repaired} repaired` : '',
    reason ?? '',
    unknown === null ? '' : `unknown: ${unknown}`,
  ]
  return `${key}: ${title}; ${parts.filter((part) => part !== '').join('; ')}`
}
