import { createContext, use } from 'react'

/** The part of a form that its fields know. */
export interface FormContextValue {
  /** Starts the ids of the fields. */
  id: string
  faultOf: (field: string) => string | undefined
}

export const FormContext = createContext<FormContextValue | undefined>(undefined)

/** Returns the form around a field. */
export function useForm(): FormContextValue {
  const form = use(FormContext)
  if (!form) throw new Error('A field needs a form around it')
  return form
}

/** Returns the id of a field. */
export const fieldId = (form: string, field: string): string => `${form}-${field}`
