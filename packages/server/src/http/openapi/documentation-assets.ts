// The files of the documentation pages: Swagger UI and a few own files.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { createStaticAsset, type StaticAsset } from '../responses/static-assets.ts';

/**
 * Declares `openPortalSession` for the start script. It returns the options of Swagger UI: requests
 * have the header of the portal's pages and never a token, and each change needs a confirmation.
 */
const portalSessionScript = `'use strict';
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
  const response = await fetch('../portal/session', { headers, credentials: 'same-origin' });
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

const cacheOneHour = 'public, max-age=3600';

const script = 'text/javascript; charset=utf-8';
const style = 'text/css; charset=utf-8';

/**
 * Starts Swagger UI without external requests, in the colour scheme of the system. The portal opens
 * the page with `?portal`.
 */
const startScript = `'use strict';
const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();
/** The operations that contain all words, in any order. */
const findOperations = (tags, phrase) => {
  const words = phrase.toLowerCase().split(/\\s+/);
  const matches = (entry) => {
    const operation = entry.get('operation');
    const names = ['operationId', 'summary', 'description', 'tags'].map((name) => operation.get(name, ''));
    const text = [entry.get('method'), entry.get('path'), ...names].join(' ').toLowerCase();
    return words.every((word) => text.includes(word));
  };
  return tags
    .map((tag) => tag.update('operations', (operations) => operations.filter(matches)))
    .filter((tag) => tag.get('operations').size > 0);
};
addEventListener('DOMContentLoaded', async () => {
  const isOfPortal = new URLSearchParams(location.search).has('portal');
  const { plugins = [], ...options } = isOfPortal ? await openPortalSession() : { url: '../openapi.json' };
  SwaggerUIBundle({
    ...options,
    dom_id: '#reference',
    deepLinking: true,
    filter: true,
    docExpansion: 'list',
    defaultModelsExpandDepth: 0,
    displayOperationId: true,
    displayRequestDuration: true,
    persistAuthorization: false,
    queryConfigEnabled: false,
    validatorUrl: null,
    plugins: [{ fn: { opsFilter: findOperations } }, ...plugins],
  });
});
`;

const pageStyle = `:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --paper: #fff; --line: #d0d7de; --link: #0a58ca; --wash: #f6f8fa; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9aa4af; --paper: #14181d; --line: #353c45; --link: #7ab7ff; --wash: #1d232a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.6 system-ui, sans-serif; }
header { display: flex; flex-wrap: wrap; gap: .5rem 2rem; align-items: baseline; padding: 1rem 1.5rem; border-bottom: 1px solid var(--line); }
header .brand { font-weight: 700; font-size: 1.15rem; color: var(--ink); text-decoration: none; }
nav { display: flex; gap: 1.25rem; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem; }
a { color: var(--link); }
h1 { font-size: 1.9rem; line-height: 1.25; margin: .5rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.25rem 0 .5rem; }
.lead { font-size: 1.1rem; color: var(--soft); margin: .25rem 0 1.5rem; }
.crumb { margin: 0; }
code { font: .95em ui-monospace, monospace; background: var(--wash); padding: .1em .3em; border-radius: 4px; }
h1 code { background: none; padding: 0; }
dl { display: grid; grid-template-columns: minmax(8rem, auto) 1fr; gap: .9rem 1.5rem; }
dt { font-weight: 600; }
dd { margin: 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .45rem .75rem .45rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-size: .9rem; }
td:first-child { width: 20rem; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; gap: .2rem; } dd { margin-bottom: .9rem; } }
.reference main { max-width: none; padding: 0; }
.session { display: flex; flex-wrap: wrap; gap: .75rem 2rem; align-items: center; padding: .75rem 1.5rem; background: var(--wash); border-bottom: 1px solid var(--line); }
.session[hidden] { display: none; }
.session p { margin: 0; max-width: 46rem; }
.session label { display: flex; gap: .75rem; align-items: center; }
.session textarea { width: 20rem; max-width: 100%; background: var(--paper); color: var(--ink); border: 1px solid var(--line); border-radius: 4px; padding: .4em; font: .95em ui-monospace, monospace; }
.dark-mode .swagger-ui { color-scheme: dark; }
`;

const logo = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0a58ca"/><path d="M5 21h8c6 0 5-10 11-10h3M5 21h22" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round"/></svg>
`;

function fromText(type: string, text: string): StaticAsset {
  return createStaticAsset({ type, cacheControl: cacheOneHour, read: () => Buffer.from(text) });
}

/** The npm package contains the built files. */
function fromFile(type: string, url: string): StaticAsset {
  return createStaticAsset({
    type,
    cacheControl: cacheOneHour,
    read: () => readFile(fileURLToPath(url)),
  });
}

export function createDocumentationAssets(): Readonly<Record<string, StaticAsset>> {
  return {
    'pages.css': fromText(style, pageStyle),
    'portal-session.js': fromText(script, portalSessionScript),
    'start.js': fromText(script, startScript),
    'mark.svg': fromText('image/svg+xml', logo),
    'swagger-ui.css': fromFile(style, import.meta.resolve('swagger-ui-dist/swagger-ui.css')),
    'swagger-ui.js': fromFile(script, import.meta.resolve('swagger-ui-dist/swagger-ui-bundle.js')),
  };
}
