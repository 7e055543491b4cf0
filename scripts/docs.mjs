/** Shows the documents as a site: `npm run docs` serves it, `npm run docs -- build` writes static files to `docs/dist`. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { installDependencies } from './launch/prepare.mjs'

const COMMANDS = ['dev', 'build', 'preview']

const folder = fileURLToPath(new URL('../docs', import.meta.url))
const [command = 'dev', ...options] = process.argv.slice(2)
if (!COMMANDS.includes(command)) {
  console.error(`Unknown command "${command}". Use one of: ${COMMANDS.join(', ')}.`)
  process.exit(1)
}
await installDependencies(folder, process.execPath)
const vitepress = 'node_modules/vitepress/bin/vitepress.js'
const child = spawn(process.execPath, [vitepress, command, '.', ...options], {
  cwd: folder,
  stdio: 'inherit',
})
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => child.kill(signal))
child.once('exit', (code) => process.exit(code ?? 1))
