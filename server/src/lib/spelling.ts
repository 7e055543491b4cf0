/** Suggests the known name that a misspelt name probably means. */

/** The maximum edits between a misspelt name and the suggested one (decisions §1, §12). */
const MAX_EDITS = 2

/** Returns the known name within `most` edits of `name`, or undefined if `name` is known or none is similar. */
export function misspelt(
  name: string,
  known: readonly string[],
  most = MAX_EDITS,
): string | undefined {
  if (known.includes(name)) return undefined
  const distances = known
    .filter((other) => Math.abs(other.length - name.length) <= most)
    .map((other) => ({ other, edits: editsBetween(name, other) }))
    .filter(({ other, edits }) => edits <= most && edits < other.length / 2)
    .sort((a, b) => a.edits - b.edits)
  return distances[0]?.other
}

/** Returns the Levenshtein distance. Swapping two adjacent letters counts as one edit. */
function editsBetween(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1]
      let edits = Math.min(
        (last[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (last[j - 1] ?? 0) + (isSame ? 0 : 1),
      )
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        edits = Math.min(edits, (before[j - 2] ?? 0) + 1)
      row.push(edits)
    }
    before = last
    last = row
  }
  return last[b.length] ?? 0
}
