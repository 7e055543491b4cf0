interface ChoiceFilterProps {
  readonly label: string
  /** The label of the option that does not filter. */
  readonly any: string
  readonly value: string | undefined
  readonly choices: readonly (readonly [value: string, label: string])[]
  /** Called with an empty text for the option that does not filter. */
  readonly onChoose: (value: string) => void
}

/** A filter of a list with a few possible values. */
export function ChoiceFilter({ label, any, value = '', choices, onChoose }: ChoiceFilterProps) {
  return (
    <select aria-label={label} value={value} onChange={(event) => onChoose(event.target.value)}>
      <option value="">{any}</option>
      {choices.map(([choice, name]) => (
        <option key={choice} value={choice}>
          {name}
        </option>
      ))}
    </select>
  )
}
