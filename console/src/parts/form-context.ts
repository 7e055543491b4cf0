import { createContext, use } from 'react'

/** The parts of a form that its fields need. */
export interface FormContextValue {
  /** The prefix of the ids of the fields. */
  id: string
  faultOf: (field: string) => string | undefined
}

export const FormContext = createContext<FormContextValue | undefined>(undefined)

/** Returns the context of the form that contains the field. */
export function useForm(): FormContextValue {
  const form = use(FormContext)
  if (!form) throw new Error('A field needs a form around it')
  return form
}

/** Returns the id of a field. */
export const fieldId = (form: string, field: string): string => `${form}-${field}`
