import type { ReactNode } from 'react'
import { panelTexts as texts } from './panel.texts.ts'

/** The content of a panel without controls. It takes the focus, so that the keyboard can scroll the panel. */
export function PanelContent({ children }: { children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls a long panel
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would need a legend
    <div className="card-body stack" role="group" tabIndex={0} aria-label={texts.content}>
      {children}
    </div>
  )
}
