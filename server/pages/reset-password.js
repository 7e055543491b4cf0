import { sendToken } from './send.js'

sendToken((token, form) =>
  fetch('/api/auth/reset-password', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token, new_password: form.elements.password.value }),
  }),
)
