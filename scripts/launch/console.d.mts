export const stampFile: string
export function consoleStamp(root: string): string
export function isConsoleBuilt(root: string): boolean
export function prepareConsole(
  root: string,
  how: {
    node: string
    env: NodeJS.ProcessEnv
    /** Announces a step. Returns the function that reports its end. */
    started: (line: string) => () => void
    say: (line: string) => void
  },
): Promise<string | undefined>
