import { useState } from 'react'
import { diffFields, type FieldDiff, type FieldValue } from './diff.ts'
import { diffViewTexts as texts } from './diff-view.texts.ts'
import './diff-view.css'

interface DiffViewProps {
  readonly before: Readonly<Record<string, FieldValue>>
  readonly after: Readonly<Record<string, FieldValue>>
  /** The fields whose values are not shown. */
  readonly hidden?: ReadonlySet<string>
  /** The labels of fields. A field without a label is shown by its technical name. */
  readonly labels?: Readonly<Record<string, string>>
}

const NONE: ReadonlySet<string> = new Set()

/** Shows the changed fields with their values before and after the change. */
export function DiffView({ before, after, hidden = NONE, labels = {} }: DiffViewProps) {
  const [showsAll, setShowsAll] = useState(false)
  const all = diffFields(before, after)
  const changed = all.filter(({ field, isChanged }) => isChanged || hidden.has(field))
  const shown = showsAll ? all : changed
  return (
    <div className="diff">
      {shown.length === 0 ? (
        <p className="muted">{texts.noChange}</p>
      ) : (
        <table className="plain-table">
          <caption className="hidden">{texts.caption}</caption>
          <thead>
            <tr>
              <th scope="col">{texts.field}</th>
              <th scope="col">{texts.before}</th>
              <th scope="col">{texts.after}</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((diff) => (
              <DiffRow
                key={diff.field}
                diff={diff}
                label={labels[diff.field] ?? diff.field}
                isHidden={hidden.has(diff.field)}
              />
            ))}
          </tbody>
        </table>
      )}
      {changed.length < all.length && (
        <button type="button" className="link" onClick={() => setShowsAll(!showsAll)}>
          {showsAll ? texts.showChanged : texts.showAll}
        </button>
      )}
    </div>
  )
}

interface DiffRowProps {
  readonly diff: FieldDiff
  readonly label: string
  readonly isHidden: boolean
}

function DiffRow({ diff, label, isHidden }: DiffRowProps) {
  return (
    <tr>
      <th scope="row">{label}</th>
      {isHidden ? (
        <td colSpan={2} className="muted">
          {texts.secret}
        </td>
      ) : (
        <>
          <td>
            <Lines lines={diff.before} others={diff.after} as="del" />
          </td>
          <td>
            <Lines lines={diff.after} others={diff.before} as="ins" />
          </td>
        </>
      )}
    </tr>
  )
}

interface LinesProps {
  readonly lines: readonly string[]
  readonly others: readonly string[]
  readonly as: 'del' | 'ins'
}

/** Shows the lines of a value. Marks lines that the other version does not contain. */
function Lines({ lines, others, as: Mark }: LinesProps) {
  if (lines.length === 0) return <span className="muted">{texts.empty}</span>
  return [...new Set(lines)].map((line) =>
    others.includes(line) ? <div key={line}>{line}</div> : <Mark key={line}>{line}</Mark>,
  )
}
