/** Sends the token of the page's link when its form is submitted, and says what came of it. */
export function sendToken(call) {
  const form = document.querySelector('form')
  const button = form.querySelector('button')
  const status = document.querySelector('[role="status"]')
  let token = ''

  function readToken() {
    token = new URLSearchParams(location.hash.slice(1)).get('token') ?? ''
    // From here on it stands neither in the address bar nor in the history.
    history.replaceState(null, '', location.pathname)
    form.hidden = token === ''
    status.textContent = token === '' ? 'Open the link in the mail once more.' : ''
  }

  readToken()
  // A second link that is opened in the same tab does not load the page again.
  addEventListener('hashchange', readToken)

  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    button.disabled = true
    status.textContent = 'One moment…'
    try {
      const response = await call(token, form.elements.password.value)
      const { detail } = await response.json()
      status.textContent =
        typeof detail === 'string'
          ? detail
          : detail.map(({ msg }) => msg.replace(/^Value error, /, '')).join('\n')
      if (response.ok) form.hidden = true
    } catch {
      status.textContent = 'The service cannot be reached; try again.'
    }
    button.disabled = false
  })
}

/**
 * Posts `body` as JSON.
 * @param url relative to the page, which a proxy may have put below a prefix
 */
export const post = (url, body) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
