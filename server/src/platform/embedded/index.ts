/** The public interface of the embedded PostgreSQL, a durable server that the service runs in its data folder. */
import { rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { StartupError } from '../../lib/startup-error.ts'
import { findBinaries } from './binaries.ts'
import { OWNER, prepareCluster } from './cluster.ts'
import { openEndpoint, PORT, socketOf } from './endpoint.ts'
import { openFolder, prepareFolder } from './folder.ts'
import type { EmbeddedLog } from './log.ts'
import { FolderTaken, takeFolder } from './owner.ts'
import { DATABASE, isReady } from './ready.ts'
import { asStartupError } from './reasons.ts'
import { runServer } from './server.ts'

export { NoBinariesError } from './binaries.ts'
export { hasCluster } from './cluster.ts'
export type { EmbeddedLog } from './log.ts'

export interface EmbeddedServer {
  /** The connection options for pg: the socket folder, or on Windows the loopback port with a password. */
  readonly connection: {
    host: string
    port: number
    user: string
    database: string
    password?: string
  }
  /** Shuts the server down cleanly. Resolves when the server has ended and the folder is unlocked. */
  stop(): Promise<void>
}

/** Starts a server on the data folder. @throws StartupError for faults that the operator can repair */
export async function startEmbedded(options: {
  dataDir: string
  log: EmbeddedLog
  settings?: Record<string, string>
}): Promise<EmbeddedServer> {
  try {
    return await start(options)
  } catch (error) {
    throw asStartupError(error, resolve(options.dataDir))
  }
}

/** How long `joinEmbedded` waits for a server that another process is starting. */
const JOIN_MS = 10_000

/** Like `startEmbedded`, but connects to a server that another process runs. `stop` does not stop that one. */
export async function joinEmbedded(
  options: Parameters<typeof startEmbedded>[0],
): Promise<EmbeddedServer> {
  try {
    return await startEmbedded(options)
  } catch (error) {
    const host = error instanceof FolderTaken ? await socketOf(options.dataDir) : undefined
    if (host === undefined) throw error
    const deadline = Date.now() + JOIN_MS
    while (!(await isReady({ host, port: PORT }))) {
      if (Date.now() > deadline) throw error
      await delay(100)
    }
    const connection = { host, port: PORT, user: OWNER, database: DATABASE }
    return { connection, stop: async () => undefined }
  }
}

/** Deletes a data folder of a process that has died. Does nothing if another process uses the folder. */
export async function deleteLeftFolder(path: string): Promise<void> {
  const ownership = await takeFolder(path).catch((error: unknown) => {
    if (error instanceof StartupError) return undefined
    throw error
  })
  if (!ownership) return
  await ownership.release()
  await rm(path, { recursive: true, force: true, maxRetries: 5 })
}

async function start({
  dataDir,
  log,
  settings = {},
}: {
  dataDir: string
  log: EmbeddedLog
  settings?: Record<string, string>
}): Promise<EmbeddedServer> {
  const path = await openFolder(dataDir)
  const ownership = await takeFolder(path)
  try {
    const folder = await prepareFolder(path)
    const binaries = await findBinaries(folder, log)
    const endpoint = await openEndpoint(folder)
    await prepareCluster({ folder, binaries, endpoint, log })
    const server = await runServer({ folder, binaries, endpoint, log, settings })
    const stop = async () => {
      await server.stop()
      await endpoint.dispose().finally(() => ownership.release())
    }
    let stopped: Promise<void> | undefined
    const { host, port, password } = endpoint
    return {
      connection: {
        host,
        port,
        user: OWNER,
        database: DATABASE,
        ...(password ? { password } : {}),
      },
      stop() {
        stopped ??= stop()
        return stopped
      },
    }
  } catch (error) {
    await ownership.release()
    throw error
  }
}
