export function npmCli(): string
export function runNpm(run: {
  npm: string
  node: string
  cwd: string
  args: readonly string[]
  env: NodeJS.ProcessEnv
  failure: string
}): Promise<void>
