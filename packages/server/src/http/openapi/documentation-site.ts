// Serves the built documentation site below /docs: pages with clean URLs, and their files.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import {
  type BuiltFolder,
  cacheForever,
  cacheOneHour,
  isBuilding,
} from '../responses/built-folder.ts';
import { html, pageHeaders, sendHtmlPage } from '../responses/html.ts';
import { route } from '../routes/declare-route.ts';
import movedPageTable from './moved-pages.json' with { type: 'json' };

/** The build output of `npm run docs:build`. */
export const documentationFolder = fileURLToPath(
  new URL('../../../../../docs/.vitepress/dist', import.meta.url),
);

/** Returns true during the first build: `/docs` has no pages yet. During a later build it has the old ones. */
export function isFirstDocumentationBuild(
  builtFolder = documentationFolder,
  cacheFolder?: string,
): boolean {
  return isBuilding('documentation', cacheFolder) && !existsSync(join(builtFolder, 'index.html'));
}

/** Old addresses of pages, and the number of each decision record. */
const movedPages: Readonly<Record<string, string>> = movedPageTable;
const decisionForm = /^adr\/(\d{1,4})(?:-[\w-]*)?$/;

/** A decision record is found by its number: `adr/13`, `adr/0013`, `adr/0013-any-title`. */
function newAddress(path: string): string | undefined {
  const name = path.replace(decisionForm, (_, number: string) => `adr/${number.padStart(4, '0')}`);
  const address = Object.hasOwn(movedPages, name) ? movedPages[name] : undefined;
  return address === path ? undefined : address;
}

/** Browsers ask for a page again: a page of an old build does not match the script hashes of the new policy. */
const cachePage = 'no-cache';
const reloadSeconds = 5;

const unavailablePage = (text: string) => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Documentation · Switchyard</title>
<link rel="stylesheet" href="/docs/api/assets/pages.css">
</head>
<body>
<header><a class="brand" href="/docs/">Switchyard</a>
<nav><a href="/docs/api">API reference</a> <a href="/docs/errors">Error codes</a></nav></header>
<main><h1>Documentation</h1><p class="lead">${text}</p></main>
</body>
</html>
`;

const beingBuiltText =
  'The pages are being built. This takes about a minute. The page reloads automatically.';
const notBuiltText =
  'The pages are not built on this server. The operator builds them with “npm run docs:build”.';

/** Allows the inline scripts of the page by their hash, and the colours of code as style attributes. */
function policyOf(page: Buffer): string {
  const hashes = [
    ...page.toString().matchAll(/<script(?![^>]* src=)[^>]*>([\s\S]*?)<\/script>/g),
  ].map(([, script = '']) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`);
  return [
    "default-src 'self'",
    `script-src 'self' ${hashes.join(' ')}`,
    "style-src 'self'",
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** All pages have the inline scripts of the index page. */
function createPolicy(): (index: Buffer) => string {
  let last: { readonly index: Buffer; readonly policy: string } | undefined;
  return (index) => {
    if (last?.index !== index) last = { index, policy: policyOf(index) };
    return last.policy;
  };
}

function pageFile(path: string): string {
  if (path.endsWith('.html')) return path;
  return path === '' || path.endsWith('/') ? `${path}index.html` : `${path}.html`;
}

export function registerDocumentationSite(app: FastifyInstance, built: BuiltFolder): void {
  const policyFor = createPolicy();

  async function send(path: string, request: FastifyRequest, reply: FastifyReply) {
    const address = newAddress(path);
    if (address !== undefined)
      return reply.header('cache-control', cacheOneHour).redirect(`/docs/${address}`, 308);
    const index = await built.index();
    if (index === undefined) {
      const isBeingBuilt = isBuilding('documentation');
      if (isBeingBuilt) reply.header('refresh', String(reloadSeconds));
      return sendHtmlPage(
        reply.code(503),
        unavailablePage(isBeingBuilt ? beingBuiltText : notBuiltText),
      );
    }
    reply.headers({ ...pageHeaders, 'content-security-policy': policyFor(index) });
    const isPage = ['', '.html'].includes(extname(path));
    const fileCacheControl = path.startsWith('assets/') ? cacheForever : cacheOneHour;
    const cacheControl = isPage ? cachePage : fileCacheControl;
    const file = isPage ? pageFile(path) : path;
    if (await built.send(file, cacheControl, request, reply)) return reply;
    reply.code(404);
    if (await built.send('404.html', 'no-store', request, reply)) return reply;
    return reply.header('cache-control', 'no-store').type('text/plain').send('Not found.\n');
  }

  const sharedOptions = {
    method: 'GET',
    tags: ['Documentation'],
    permission: 'public',
    isHidden: true,
    produces: ['text/html', 'text/css', 'text/javascript', 'image/svg+xml', 'font/woff2'],
    response: { 200: Type.Unknown() },
    errors: [],
  } as const;
  route(app, {
    ...sharedOptions,
    url: '/docs',
    operationId: 'redirectToDocumentation',
    summary: 'Redirect to the documentation',
    handler: async (_request, reply) => reply.redirect('docs/', 308),
  });
  route(app, {
    ...sharedOptions,
    url: '/docs/*',
    operationId: 'getDocumentationPage',
    summary: 'Get a page of the documentation',
    params: Type.Object({ '*': Type.String() }),
    handler: (request, reply) => send(request.params['*'], request, reply),
  });
}
