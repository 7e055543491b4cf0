/** The composition root: the order in which the service starts and stops. */
import { type AppDeps, openCore } from './core.ts'
import { openHttpServer } from './http-server.ts'
import { openFeatures } from './open-features.ts'
import type { Background, Feature } from './platform/feature/feature.ts'
import { openapiOperation, stopServing } from './platform/http/index.ts'
import { closerOf, endTogether } from './platform/lifecycle/undo.ts'
import { startUpkeep } from './platform/lifecycle/upkeep.ts'

export type App = Awaited<ReturnType<typeof openApp>>

/** The names of background work: `jobs`, or the name of a feature. */
export type BackgroundWork = 'jobs' | keyof Awaited<ReturnType<typeof openFeatures>>['features']

/** Builds the service on a migrated database. Does not listen for requests yet. */
export async function openApp(deps: AppDeps) {
  const { log } = deps
  // If startup fails, everything that was acquired so far is released in reverse order, as on shutdown.
  await using undo = new AsyncDisposableStack()
  const onClose = closerOf(undo, log)
  const core = await openCore(deps, onClose)
  const opened = await openFeatures(core, onClose)
  const { features, tables, columns, steps, fixes, outgoing } = opened
  const list: readonly Feature[] = Object.values(features)
  // Ends all background work at the same time, so that a slow request does not delay the release of a claimed job.
  const working: (() => unknown)[] = [
    core.hold.stop,
    ...list.map((feature) => () => feature.stopping?.()),
    core.jobs.stop,
  ]
  onClose('background work', () => endTogether(working, log))
  const own = list.flatMap((feature) => feature.operations ?? [])
  const operations = [...own, openapiOperation(own, { version: core.version, outgoing })]
  const { sessions, requireConfirmed } = features.auth
  const callers = { authenticate: sessions.authenticate, requireConfirmed }
  const server = await openHttpServer(core, list, operations, callers, deps.consoleFolder)
  working.push(() => stopServing(server, core.clock))
  working.push(
    await startUpkeep(
      [core, ...list].flatMap(({ upkeep = [] }) => [...upkeep]),
      core,
    ),
    core.refusals.keepWritten(log),
  )
  await core.jobs.start()
  requireKnown(deps.background ?? [], ['jobs', ...list.map(({ name }) => name)])
  const background = new Map<string, Pick<Background, 'idle'>>([['jobs', core.jobs]])
  for (const feature of list.filter(({ name }) => core.runs(name))) {
    const begin = () => {
      const begun = feature.background?.()
      if (!begun) return
      background.set(feature.name, begun)
      working.push(() => begun.stop())
    }
    if (feature.goesOut) core.hold.whenReleased(begin)
    else begin()
  }

  const kept = undo.move()
  return {
    server,
    features,
    db: core.db,
    operations,
    tables,
    columns,
    steps,
    fixes,
    metrics: core.metrics,
    /** Reports whether mails, webhooks and messages are paused, and lets the caller resume them. */
    hold: core.hold,
    /** Resolves when the named background work is idle, or immediately if it does not run in this process. */
    idle: async (work: BackgroundWork) => void (await background.get(work)?.idle()),
    /** Creates the initial data in an empty database. Returns the function that announces the service. */
    setUp: features.setup.setUp,
    /** Stops accepting requests, finishes running work, and releases the database. */
    close: () => kept.disposeAsync(),
  }
}

/** @throws Error for an unknown name of background work */
function requireKnown(named: readonly string[], known: readonly string[]): void {
  const unknown = named.filter((name) => !known.includes(name))
  if (unknown.length > 0) throw new Error(`unknown background work: ${unknown.join(', ')}`)
}
