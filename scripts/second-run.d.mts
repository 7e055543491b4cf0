export function covering(
  recorded: readonly { file: string; seconds: number; statements: readonly string[] }[],
): string[]
