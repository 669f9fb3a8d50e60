// The script of the API reference as the portal opens it: calls use the session of this browser.

/**
 * Declares `openPortalSession` for the start script. It returns the options of Swagger UI: requests
 * have the header of the portal's pages and never a token, and each change needs a confirmation.
 */
export const portalSessionScript = `'use strict';
const ownIdentifiers = ['clientTransactionId', 'clientOperationId', 'orderId'];
const reservedHeaders = ['authorization', 'cookie', 'x-switchyard-portal', 'host', 'content-length'];
const publicAccess = ['public', 'certificate', 'token'];
const environments = {
  demo: 'It changes data in the demo environment. No real money moves.',
  test: 'It changes data in the test environment.',
  production: 'It changes data in production. It may move money.',
};
/** Client identifiers of the examples get new values once for each page load. */
async function readDocument() {
  const response = await fetch('../openapi.json');
  if (!response.ok) throw new Error('openapi.json could not be read (HTTP ' + response.status + '). Reload the page.');
  return JSON.parse(await response.text(), (name, value) =>
    ownIdentifiers.includes(name) && typeof value === 'string' ? crypto.randomUUID() : value);
}
/** Fills in the identifiers that the session knows, and marks operations without permission. */
function describeFor(session, spec) {
  const { userDomainId, organizationId, merchantId, permissions } = session;
  const values = { userDomainId, realm: userDomainId, organizationId, merchantId };
  for (const operation of Object.values(spec.paths).flatMap((methods) => Object.values(methods))) {
    const needed = [operation['x-permission']].flat();
    if (!needed.some((each) => publicAccess.includes(each) || permissions.includes(each)))
      operation.summary += ' (no permission)';
    for (const parameter of operation.parameters ?? [])
      if (parameter.in === 'path' && values[parameter.name]) parameter.example = values[parameter.name];
  }
  return spec;
}
function typedHeaders(text) {
  const lines = text.split('\\n').map((line) => line.trim()).filter((line) => line !== '');
  return lines.map((line) => {
    const [, name = '', value = ''] = /^([A-Za-z0-9-]+):\\s*([\\x20-\\x7e]*)$/.exec(line) ?? [];
    if (name === '') throw new Error('Write each header as "name: value".');
    if (reservedHeaders.includes(name.toLowerCase()))
      throw new Error('The session authenticates the request: the header ' + name + ' cannot be sent from here.');
    return [name, value];
  });
}
/** The address stays on this host, also if the document names another. */
function requestInterceptor(session, headersField) {
  return (request) => {
    const { pathname, search } = new URL(request.url, location.href);
    const method = request.method.toUpperCase();
    request.url = location.origin + pathname + search;
    request.headers = Object.fromEntries(
      Object.entries(request.headers).filter(([name]) => !reservedHeaders.includes(name.toLowerCase())));
    request.headers['X-Switchyard-Portal'] = '1';
    request.credentials = 'same-origin';
    try {
      Object.assign(request.headers, Object.fromEntries(typedHeaders(headersField.value)));
      if (method !== 'GET' && !confirm('Send ' + method + ' ' + pathname + '?\\n' + environments[session.environment]))
        throw new Error('The request was not sent.');
    } catch (error) {
      // Swagger UI shows the error of a request, but not of an interceptor.
      request.userFetch = () => Promise.reject(error);
    }
    return request;
  };
}
/** Without a session the page still shows the reference, but sends nothing. */
async function openPortalSession() {
  const bar = document.getElementById('session');
  bar.hidden = false;
  try {
    return await readPortalSession(bar);
  } catch (error) {
    bar.replaceChildren(error.message);
    return { url: '../openapi.json', supportedSubmitMethods: [] };
  }
}
async function readPortalSession(bar) {
  const headers = { 'x-switchyard-portal': 'background' };
  const response = await fetch('portal/session', { headers, credentials: 'same-origin' });
  if (response.status === 401)
    throw new Error('Your portal session has ended. Sign in to the portal and open this page from there.');
  if (!response.ok) throw new Error('The portal session could not be read (HTTP ' + response.status + '). Reload the page.');
  const session = await response.json();
  bar.querySelector('strong').textContent = session.user.name;
  return {
    spec: describeFor(session, await readDocument()),
    requestInterceptor: requestInterceptor(session, bar.querySelector('textarea')),
    plugins: [{ wrapComponents: { authorizeBtn: () => () => null, authorizeOperationBtn: () => () => null } }],
  };
}
`;
