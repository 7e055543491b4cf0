import { PasswordField } from '../../parts/form-fields.tsx'
import { passwordTexts as texts } from './password.texts.ts'

/** The field for a new password. It has a button that shows the password, so the user need not type it twice. */
export function NewPasswordField({ name, label }: { name: string; label?: string }) {
  return (
    <PasswordField
      name={name}
      label={label ?? texts.newPassword}
      hint={texts.newPasswordHint}
      missing={texts.newPasswordMissing}
      autoComplete="new-password"
      minLength={8}
      maxLength={128}
    />
  )
}
