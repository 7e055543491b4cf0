import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { Icon } from '../../parts/icon.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { type AuditAction, actionsQuery, useActionMeanings } from './action-meanings.ts'
import { auditTexts } from './audit.texts.ts'
import { actionGroupNames } from './entry-words.texts.ts'
import { nameIn } from './entry-words.ts'
import { type AuditFilters, type ChosenActions, chosenActions, MAX_ACTIONS } from './filters.ts'

const texts = auditTexts.filters

type OnChange = (chosen: {
  readonly action: readonly string[]
  readonly group: readonly string[]
}) => void

interface ActionFilterProps {
  readonly filters: AuditFilters
  readonly onChange: OnChange
}

/** Filters by actions, or by whole groups of actions. */
export function ActionFilter({ filters, onChange }: ActionFilterProps) {
  const id = useId()
  const query = useQuery(actionsQuery)
  const { actions, meaningOf } = useActionMeanings()
  const chosen = chosenActions(filters, actions)
  const label = labelOf(chosen, meaningOf)
  return (
    <>
      <button
        type="button"
        className="action-filter"
        popoverTarget={id}
        aria-label={label === texts.anyAction ? label : texts.chosenActions(label)}
      >
        <span className="ellipsis">{label}</span>
        <Icon name="down" />
      </button>
      <div
        id={id}
        popover="auto"
        role="dialog"
        aria-label={texts.chooseActions}
        className="popup actions-popup"
      >
        {chosen.action.length >= MAX_ACTIONS && (
          <p className="small muted">{texts.mostActions(MAX_ACTIONS)}</p>
        )}
        <QueryState query={query}>
          {(known) =>
            [...groupsOf(known)].map(([group, members]) => (
              <ActionGroup key={group} {...{ group, members, chosen, onChange }} />
            ))
          }
        </QueryState>
        <button type="button" className="link" onClick={() => onChange({ action: [], group: [] })}>
          {texts.clearActions}
        </button>
      </div>
    </>
  )
}

interface ActionGroupProps {
  readonly group: AuditAction['group']
  readonly members: readonly AuditAction[]
  readonly chosen: ChosenActions
  readonly onChange: OnChange
}

/** A group with a checkbox for the whole group, and its actions. */
function ActionGroup({ group, members, chosen, onChange }: ActionGroupProps) {
  const name = nameIn(actionGroupNames, group)
  const isWhole = chosen.group.includes(group)
  const names = members.map(({ action }) => action)
  const others = chosen.action.filter((action) => !names.includes(action))
  const groups = chosen.group.filter((other) => other !== group)
  const chosenHere = isWhole ? names : names.filter((action) => chosen.action.includes(action))
  const [isOpen, setOpen] = useState(chosenHere.length > 0 && !isWhole)
  const toggle = (action: string) => {
    const here = chosenHere.includes(action)
      ? chosenHere.filter((other) => other !== action)
      : [...chosenHere, action]
    if (here.length === names.length) onChange({ action: others, group: [...groups, group] })
    else onChange({ action: [...others, ...here].slice(0, MAX_ACTIONS), group: groups })
  }
  return (
    <fieldset>
      <legend className="hidden">{name}</legend>
      <label className="check group-check">
        <input
          type="checkbox"
          checked={isWhole}
          onChange={() =>
            onChange({ action: others, group: isWhole ? groups : [...groups, group] })
          }
        />
        {name}
      </label>
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          {texts.actions(names.length)}
          <span className="hidden"> {name}</span>
        </summary>
        {members.map(({ action, meaning }) => (
          <label key={action} className="check action-check">
            <input
              type="checkbox"
              checked={chosenHere.includes(action)}
              onChange={() => toggle(action)}
            />
            {meaning}
          </label>
        ))}
      </details>
    </fieldset>
  )
}

function labelOf({ action, group }: ChosenActions, meaningOf: (action: string) => string): string {
  const [onlyAction, ...otherActions] = action
  const [onlyGroup, ...otherGroups] = group
  if (onlyAction === undefined && onlyGroup === undefined) return texts.anyAction
  if (onlyAction === undefined && onlyGroup !== undefined && otherGroups.length === 0)
    return nameIn(actionGroupNames, onlyGroup)
  if (onlyGroup === undefined && onlyAction !== undefined && otherActions.length === 0)
    return meaningOf(onlyAction)
  return [
    ...group.map((name) => nameIn(actionGroupNames, name)),
    ...(action.length > 0 ? [texts.actions(action.length)] : []),
  ].join(', ')
}

function groupsOf(actions: readonly AuditAction[]): Map<AuditAction['group'], AuditAction[]> {
  const groups = new Map<AuditAction['group'], AuditAction[]>()
  for (const action of actions)
    groups.set(action.group, [...(groups.get(action.group) ?? []), action])
  return groups
}
