/** Installs one release of Node from its npm package. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { LaunchError } from './launch-error.mjs'
import { runNpm } from './npm.mjs'
import { lockOfNode, oldestNode } from './plan.mjs'

/**
 * Installs the package into `home` if its content matches `integrity`. Installs into another folder first and renames
 * it, so that an interrupted install is never used.
 * @throws LaunchError when the package cannot be downloaded, or its Node does not run on this machine
 */
export async function fetchNode({ npm, home, ...wanted }) {
  const spec = `${wanted.name}@${wanted.release}`
  const aside = `${home}-unfinished`
  rmSync(aside, { recursive: true, force: true })
  mkdirSync(aside, { recursive: true })
  // A separate package.json keeps npm from installing into the repository.
  for (const [file, text] of Object.entries(lockOfNode(wanted)))
    writeFileSync(path.join(aside, file), `${text}\n`)
  await runNpm({
    npm,
    node: process.execPath,
    cwd: aside,
    args: ['ci', '--prefix', aside, '--workspaces=false', '--ignore-scripts'],
    env: process.env,
    failure: `Fetching Node (${spec}) failed. You can also install Node ${oldestNode} yourself.`,
  })
  if (spawnSync(path.join(aside, wanted.binary), ['--version']).status !== 0) {
    throw new LaunchError(
      `The node of ${spec} does not run on this machine. Install Node ${oldestNode} yourself.`,
    )
  }
  rmSync(home, { recursive: true, force: true })
  renameSync(aside, home)
}
