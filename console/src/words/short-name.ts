const MAX_LENGTH = 60

/** Shortens a very long name for titles, buttons and messages. The page of the record shows the whole name. */
export function shortName(name: string): string {
  const characters = [...name]
  if (characters.length <= MAX_LENGTH) return name
  return `${characters.slice(0, MAX_LENGTH - 1).join('')}…`
}
