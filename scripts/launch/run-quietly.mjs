/** Runs a step of the setup without showing its output. */
import { spawn } from 'node:child_process'
import { LaunchError } from './launch-error.mjs'

const stops = ['SIGINT', 'SIGTERM']

/**
 * Runs a program and returns its output, with `outcome` 0 if it succeeded. Forwards signals, and settles only after the
 * program has ended, because the caller may hold a claim on the work tree.
 * @throws LaunchError when a signal stopped the program
 */
export async function runQuietly({ node, args, cwd, env }) {
  const child = spawn(node, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  let stopped = false
  const stop = (signal) => {
    stopped = true
    child.kill(signal)
  }
  for (const signal of stops) process.on(signal, stop)
  const outcome = await new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, signal) => resolve(code ?? signal))
  })
  for (const signal of stops) process.off(signal, stop)
  if (stopped) throw new LaunchError('Stopped while setting up; run this again to go on.')
  return { outcome, output }
}
