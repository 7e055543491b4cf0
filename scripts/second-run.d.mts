export function covering(
  recorded: readonly { file: string; seconds: number; statements: readonly string[] }[],
): string[]
export function needsNoBrowser(recorded: { file: string }): boolean
