import { type ReactNode, useEffect, useId, useRef } from 'react'
import { commonTexts } from '../words/common.texts.ts'
import { Icon } from './icon.tsx'
import { useShortcuts } from './keys.ts'
import { panelTexts as texts } from './panel.texts.ts'
import './panel.css'

interface PanelProps {
  readonly title: string
  readonly subtitle?: ReactNode
  /** Content before the title, such as an avatar. */
  readonly mark?: ReactNode
  readonly children: ReactNode
  /** The buttons at the bottom of the panel. */
  readonly actions?: ReactNode
  readonly onClose: () => void
  /** The id of the element that receives the focus when the panel closes. */
  readonly returnFocusTo: string
}

/**
 * The panel of the open record beside its list. The panel is not modal: the list stays usable, and Escape closes the
 * panel.
 */
export function Panel(props: PanelProps) {
  const { title, subtitle, mark, children, actions, onClose } = props
  const titleId = useId()
  const heading = useRef<HTMLHeadingElement>(null)
  usePanelFocus(heading, props.returnFocusTo)
  useShortcuts([
    {
      keys: 'escape',
      label: texts.close,
      // Ignores Escape while a menu or list is open above the panel, because the key closes that first.
      run: () => !document.querySelector(':popover-open') && onClose(),
    },
  ])
  return (
    <aside className="panel card" aria-labelledby={titleId}>
      <header>
        {mark}
        <div className="grow">
          <h2 ref={heading} id={titleId} tabIndex={-1}>
            {title}
          </h2>
          {subtitle && <div className="muted ellipsis">{subtitle}</div>}
        </div>
        <button type="button" className="plain" aria-label={commonTexts.close} onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div className="panel-body">{children}</div>
      {actions && <footer>{actions}</footer>}
    </aside>
  )
}

/**
 * Moves the focus to the heading when the panel opens. When the panel closes and the focus was in it, moves the focus
 * to the row.
 */
function usePanelFocus(
  heading: { readonly current: HTMLElement | null },
  returnFocusTo: string,
): void {
  const latest = useRef(returnFocusTo)
  latest.current = returnFocusTo
  useEffect(() => {
    heading.current?.focus()
    return () => {
      if (document.activeElement === document.body) document.getElementById(latest.current)?.focus()
    }
  }, [heading])
}
