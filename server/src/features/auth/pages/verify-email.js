import { post, sendToken } from './send.js'

sendToken((token, password) =>
  post(`api/auth/verify-email?token=${encodeURIComponent(token)}`, { password }),
)
