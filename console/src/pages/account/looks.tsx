import { SingleKeysSwitch } from '../../parts/keys-dialog.tsx'
import {
  chooseTheme,
  DENSITIES,
  THEMES,
  useChooseDensity,
  useDensity,
  useTheme,
} from '../../shell/looks.ts'
import { shellTexts } from '../../shell/shell.texts.ts'
import { accountTexts } from './account.texts.ts'

const texts = accountTexts.looks

/**
 * Lets users choose the theme, the row height, and whether single-letter shortcuts work. Each choice applies
 * immediately.
 */
export function Looks() {
  const chooseDensity = useChooseDensity()
  return (
    <section className="card" aria-labelledby="looks">
      <header>
        <h2 id="looks">{texts.title}</h2>
      </header>
      <div className="card-body stack">
        <Choice
          legend={texts.theme}
          options={THEMES}
          labels={shellTexts.theme}
          chosen={useTheme()}
          onChoose={chooseTheme}
        />
        <Choice
          legend={texts.density}
          options={DENSITIES}
          labels={shellTexts.density}
          chosen={useDensity()}
          onChoose={(density) => void chooseDensity(density)}
        />
        <SingleKeysSwitch />
      </div>
    </section>
  )
}

interface ChoiceProps<Option extends string> {
  readonly legend: string
  readonly options: readonly Option[]
  readonly labels: Readonly<Record<Option, string>>
  readonly chosen: Option
  readonly onChoose: (option: Option) => void
}

function Choice<Option extends string>(props: ChoiceProps<Option>) {
  const { legend, options, labels, chosen, onChoose } = props
  return (
    <fieldset>
      <legend>
        <b>{legend}</b>
      </legend>
      <div className="row">
        {options.map((option) => (
          <label key={option} className="check">
            <input
              type="radio"
              name={legend}
              checked={option === chosen}
              onChange={() => onChoose(option)}
            />
            {labels[option]}
          </label>
        ))}
      </div>
    </fieldset>
  )
}
