import { post, sendToken } from './send.js'

sendToken((token, new_password) => post('api/auth/reset-password', { token, new_password }))
