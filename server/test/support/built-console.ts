/** The built console, for tests that need the real one. */
import path from 'node:path'
import { prepareConsole } from '../../../scripts/launch/console.mjs'

const ROOT = path.resolve(import.meta.dirname, '../../..')

/**
 * Returns the folder of the built console, for `openService({ consoleFolder })`. Builds it if its sources have changed.
 * @throws Error when the build fails
 */
export async function builtConsole(): Promise<string> {
  const failure = await prepareConsole(ROOT, {
    node: process.execPath,
    env: process.env,
    started: () => () => undefined,
    say: () => undefined,
  })
  if (failure) throw new Error(failure)
  return path.join(ROOT, 'console/dist')
}
