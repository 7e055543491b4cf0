/** Shows the initials of a person in a circle. The name must be shown beside it. */
export function Avatar({ name, isLarge = false }: { name: string; isLarge?: boolean }) {
  return (
    <span className={isLarge ? 'avatar large' : 'avatar'} aria-hidden="true">
      {initialsOf(name)}
    </span>
  )
}

function initialsOf(name: string): string {
  const words = name.split(/\s+/).filter(Boolean)
  const [first, last] = [words[0], words.length > 1 ? words.at(-1) : undefined]
  return [first, last]
    .flatMap((word) => (word ? [...word][0] : []))
    .join('')
    .toLocaleUpperCase()
}
