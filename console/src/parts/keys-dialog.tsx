import { commonTexts } from '../words/common.texts.ts'
import { Dialog, DialogActions } from './dialog.tsx'
import { switchSingleKeys, useAllShortcuts, useSingleKeys } from './keys.ts'
import { keysDialogTexts as texts } from './keys-dialog.texts.ts'

/** Lists the shortcuts of the page. Contains the switch for single-letter shortcuts. */
export function KeysDialog({ onClose }: { onClose: () => void }) {
  const shortcuts = useAllShortcuts()
  return (
    <Dialog title={texts.title} onClose={onClose}>
      <table className="plain-table">
        <caption className="hidden">{texts.label}</caption>
        <tbody>
          {shortcuts.map(({ keys, label }) => (
            <tr key={keys}>
              <th scope="row">{label}</th>
              <td className="number">
                <Keys keys={keys} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <SingleKeysSwitch />
      <DialogActions>
        <button type="button" className="primary" onClick={onClose}>
          {commonTexts.close}
        </button>
      </DialogActions>
    </Dialog>
  )
}

/** The switch for single-letter shortcuts (WCAG 2.1.4). */
export function SingleKeysSwitch() {
  const isOn = useSingleKeys()
  return (
    <div>
      <label className="check">
        <input
          type="checkbox"
          checked={isOn}
          onChange={(event) => switchSingleKeys(event.target.checked)}
        />
        {texts.singleKeys}
      </label>
      <p className="muted">{texts.singleKeysHint}</p>
    </div>
  )
}

/** The keys of a shortcut as key caps. */
export function Keys({ keys }: { keys: string }) {
  return keys.split(' ').map((step, index) => (
    <span key={step}>
      {index > 0 && ` ${texts.thenKey} `}
      {step.split('+').map((key) => (
        <kbd key={key}>{keyName(key)}</kbd>
      ))}
    </span>
  ))
}

const names: Readonly<Record<string, string>> = {
  ctrl: 'Ctrl',
  shift: 'Shift',
  escape: 'Esc',
  enter: 'Enter',
}

const keyName = (key: string): string => names[key] ?? (key.length === 1 ? key.toUpperCase() : key)
