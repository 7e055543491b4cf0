import { sendToken } from './send.js'

sendToken((token) =>
  fetch(`/api/auth/verify-email?token=${encodeURIComponent(token)}`, { method: 'POST' }),
)
