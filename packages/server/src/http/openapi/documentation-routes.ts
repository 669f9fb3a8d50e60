// The documentation: the site, the API reference and the error codes, without requests to other hosts.
import { asyncApiDocument, isErrorCode, ProblemError } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { BuiltFolder } from '../responses/built-folder.ts';
import { html, sendHtmlPage } from '../responses/html.ts';
import { createStaticAsset } from '../responses/static-assets.ts';
import { route } from '../routes/declare-route.ts';
import { createDocumentationAssets } from './documentation-assets.ts';
import { registerDocumentationSite } from './documentation-site.ts';
import { errorIndexPage, errorPage, unknownErrorPage } from './error-code-pages.ts';

const referencePage = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>API reference · Switchyard</title>
<link rel="icon" href="api/assets/mark.svg" type="image/svg+xml">
<link rel="stylesheet" href="api/assets/swagger-ui.css">
<link rel="stylesheet" href="api/assets/pages.css">
<script src="api/assets/portal-session.js"></script>
<script src="api/assets/start.js"></script>
<script src="api/assets/swagger-ui.js" defer></script>
</head>
<body class="reference">
<header><a class="brand" href="./">Switchyard</a>
<nav><a href="./">Documentation</a> <a href="api">API reference</a> <a href="errors">Error codes</a> <a href="../openapi.json">OpenAPI</a> <a href="../asyncapi.json">AsyncAPI</a></nav></header>
<section id="session" class="session" aria-label="Portal session" hidden>
<p>You are signed in to the portal as <strong></strong>. “Try it out” uses this session and your permissions, and needs no token. The page asks before each request that can change data.</p>
<label>More headers <textarea rows="1" spellcheck="false" placeholder='If-Match: "3"'></textarea></label>
</section>
<main id="reference"><noscript>The reference needs JavaScript; <a href="../openapi.json">openapi.json</a> has the same content.</noscript></main>
</body>
</html>
`;

const sharedFacts = {
  method: 'GET',
  tags: ['Documentation'],
  permission: 'public',
  response: { 200: Type.Unknown() },
  errors: [],
} as const;

const pageFacts = { ...sharedFacts, isHidden: true, produces: ['text/html'] } as const;

type WebSocketUrls = {
  readonly baseUrl: string;
  readonly deviceAuthUrl?: string;
  readonly connectorSessionAuth?: 'url' | 'bearer';
};

/** Built at the first request, when all routes are declared. */
export type Documents = { readonly openApi: () => unknown; readonly asyncApi: () => unknown };

/** Builds the AsyncAPI document for the settings. */
export const asyncApiOf =
  (settings: WebSocketUrls, version: string): Documents['asyncApi'] =>
  () => {
    const { baseUrl, deviceAuthUrl: deviceUrl, connectorSessionAuth: sessionAuth } = settings;
    return asyncApiDocument({ baseUrl, deviceUrl, sessionAuth, version });
  };

const createDocument = (write: () => unknown) =>
  createStaticAsset({
    type: 'application/json',
    cacheControl: 'public, max-age=300',
    read: () => Buffer.from(JSON.stringify(write())),
  });

const documentResponse = {
  headers: { 'If-None-Match': 'The ETag of the document in the cache of the client.' },
  response: { 200: Type.Object({}, { description: 'The document.' }), 304: null },
  responseHeaders: { 200: ['ETag'] },
} as const;

export function registerDocumentation(
  app: FastifyInstance,
  { openApi, asyncApi }: Documents,
  site: BuiltFolder,
): void {
  const document = createDocument(openApi);
  const events = createDocument(asyncApi);
  route(app, {
    ...sharedFacts,
    url: '/openapi.json',
    operationId: 'getOpenApiDocument',
    summary: 'Get the OpenAPI document',
    description: 'The OpenAPI 3.1 document of the platform.',
    ...documentResponse,
    handler: (request, reply) => document.send(request, reply),
  });
  route(app, {
    ...sharedFacts,
    url: '/asyncapi.json',
    operationId: 'getAsyncApiDocument',
    summary: 'Get the AsyncAPI document',
    description:
      'The AsyncAPI 3.0 document: the events and their channels, and the WebSockets of devices and points ' +
      'of sale with their messages and close codes.',
    ...documentResponse,
    handler: (request, reply) => events.send(request, reply),
  });
  route(app, {
    ...pageFacts,
    url: '/docs/api',
    operationId: 'getReferencePage',
    summary: 'Get the page of the API reference',
    handler: async (_request, reply) => sendHtmlPage(reply, referencePage),
  });
  registerErrorPages(app);
  registerAssets(app);
  registerDocumentationSite(app, site);
}

function registerErrorPages(app: FastifyInstance): void {
  route(app, {
    ...pageFacts,
    url: '/docs/errors',
    operationId: 'getErrorIndexPage',
    summary: 'Get the page of all error codes',
    handler: async (_request, reply) => sendHtmlPage(reply, errorIndexPage()),
  });
  route(app, {
    ...pageFacts,
    url: '/docs/errors/:code',
    operationId: 'getErrorPage',
    summary: 'Get the page of an error code',
    params: Type.Object({ code: Type.String() }),
    async handler({ params }, reply) {
      if (isErrorCode(params.code)) return sendHtmlPage(reply, errorPage(params.code));
      return sendHtmlPage(reply.code(404), unknownErrorPage());
    },
  });
}

function registerAssets(app: FastifyInstance): void {
  const assets = createDocumentationAssets();
  route(app, {
    ...pageFacts,
    url: '/docs/api/assets/:name',
    produces: ['text/css', 'text/javascript', 'image/svg+xml'],
    operationId: 'getReferencePageFile',
    summary: 'Get a file of the API reference and the error pages',
    params: Type.Object({ name: Type.String() }),
    async handler(request, reply) {
      const { name } = request.params;
      const asset = Object.hasOwn(assets, name) ? assets[name] : undefined;
      if (asset !== undefined) return asset.send(request, reply);
      throw new ProblemError('resource_not_found', 'No file has this name.');
    },
  });
}
