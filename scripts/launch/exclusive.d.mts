export function exclusively<T>(
  claim: string,
  how: { say: (line: string) => void; work: () => Promise<T> },
): Promise<T>
