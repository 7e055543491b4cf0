import { type ReactNode, useState } from 'react'
import { useChangeSearch } from './list-state.ts'

interface AddRecordProps {
  readonly label: string
  /** Renders the form that adds the record. */
  readonly children: (form: {
    readonly onClose: () => void
    readonly onAdded: (record: { readonly id: number }) => void
  }) => ReactNode
}

/** The button that adds a record to a list and then opens the record. */
export function AddRecord({ label, children }: AddRecordProps) {
  const changeSearch = useChangeSearch()
  const [isAdding, setAdding] = useState(false)
  const onClose = () => setAdding(false)
  return (
    <>
      <button type="button" className="primary" onClick={() => setAdding(true)}>
        {label}
      </button>
      {isAdding &&
        children({
          onClose,
          onAdded({ id }) {
            onClose()
            changeSearch({ open: id })
          },
        })}
    </>
  )
}
