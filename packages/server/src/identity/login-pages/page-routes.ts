// Registers the routes of the pages: forms of at most 16 KB from the same site, and errors as pages.
import { errorCodes } from '@switchyard/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type TSchema, Type } from 'typebox';
import {
  acceptFormBodies,
  formLimitBytes,
  retryAfterHeader,
  route,
  toProblemError,
} from '../../http/index.ts';
import { assetPath, type PageAssets } from './html/page-assets.ts';
import { PageError, type PageErrorKind, pageErrorStatuses } from './html/page-errors.ts';
import { forgottenPasswordPath } from './html/page-paths.ts';
import type { PageContext, PageContexts, PageRequest } from './http/page-context.ts';
import type { PageResponses } from './http/page-response.ts';
import { type NextLink, renderErrorPage } from './views/messages.ts';

export type PageHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

export type PageRoute = {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  /** Describes the page in its document and in log lines of errors. */
  readonly summary: string;
  readonly operationId: string;
  /** Default: 'pages'. */
  readonly rateLimit?: string;
  readonly handler: PageHandler;
};

type RenderingDependencies = {
  readonly contexts: PageContexts;
  readonly responses: PageResponses;
  readonly assets: PageAssets;
};

/** Known parameters occur at most once; other parameters are ignored. */
const querySchema = Type.Object({
  lang: Type.Optional(Type.String()),
  with: Type.Optional(Type.String()),
  login_hint: Type.Optional(Type.String()),
  flow: Type.Optional(Type.String()),
  saved: Type.Optional(Type.String()),
  v: Type.Optional(Type.String()),
});
const bodySchema = Type.Record(Type.String(), Type.String());

function pathParamsSchema(url: string): TSchema {
  const names = [...url.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  return Type.Object(Object.fromEntries(names.map((name) => [name, Type.String()])));
}

export function registerPageRoutes(
  app: FastifyInstance,
  routes: readonly PageRoute[],
  deps: RenderingDependencies,
): void {
  app.register((scope, _options, done) => {
    acceptFormBodies(scope);
    // Before the body is read: forms from other sites are not parsed.
    scope.addHook('preParsing', async (request) => {
      if (request.method === 'POST') deps.contexts.requireSameSite(request);
    });
    scope.setErrorHandler((error, request, reply) => sendErrorPage(deps, error, request, reply));
    for (const page of routes) registerPage(scope, page);
    done();
  });
}

export function registerAssetRoutes(app: FastifyInstance, deps: RenderingDependencies): void {
  app.register((scope, _options, done) => {
    scope.setErrorHandler((error, request, reply) => sendErrorPage(deps, error, request, reply));
    registerAssetRoute(scope, deps.assets);
    done();
  });
}

function registerPage(scope: FastifyInstance, page: PageRoute): void {
  const { method, url, handler, rateLimit = 'pages', ...documentation } = page;
  route(scope, {
    ...documentation,
    method,
    url,
    query: querySchema,
    params: pathParamsSchema(url),
    tags: ['Sign-in pages'],
    permission: 'public',
    rateLimit,
    isHidden: true,
    produces: ['text/html'],
    response: { 200: Type.Unknown() },
    errors: [],
    ...(method === 'POST'
      ? { body: bodySchema, readsForm: true, bodyLimitBytes: formLimitBytes }
      : {}),
    handler: (request, reply) => handler(request, reply),
  });
}

function registerAssetRoute(scope: FastifyInstance, assets: PageAssets): void {
  route(scope, {
    method: 'GET',
    url: `${assetPath}/:name`,
    operationId: 'getSignInAsset',
    summary: 'Get an asset of the sign-in pages',
    query: querySchema,
    params: Type.Object({ name: Type.String() }),
    tags: ['Sign-in pages'],
    permission: 'public',
    isHidden: true,
    produces: ['text/css', 'text/javascript', 'image/svg+xml'],
    response: { 200: Type.Unknown() },
    errors: [],
    async handler(request, reply) {
      const asset = assets.find(request.params.name, request.query.v);
      if (asset === undefined) throw new PageError('pageNotFound');
      return asset.send(request, reply);
    },
  });
}

function errorKindOfStatus(status: number): PageErrorKind {
  if (status === 429 || status === 503) return 'tooManyRequests';
  if (status === 404) return 'pageNotFound';
  return status < 500 ? 'requestInvalid' : 'serverError';
}

/** The link that the error page offers. */
function findNextLink(
  kind: PageErrorKind,
  { texts, path, request }: PageContext,
): NextLink | undefined {
  const { realm } = request.params;
  if (kind === 'linkInvalid' && realm !== undefined) {
    return { address: forgottenPasswordPath(realm), text: texts.errors.newLink };
  }
  return kind === 'formRejected' ? { address: path, text: texts.errors.reopen } : undefined;
}

function sendErrorPage(
  { contexts, responses }: RenderingDependencies,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const context = contexts.create(request, reply);
  const show = (kind: PageErrorKind, status: number) => {
    const view = renderErrorPage(context.texts, kind, request.id, {
      next: findNextLink(kind, context),
    });
    // The response to a form has no address, so it offers no other language.
    const path = request.method === 'GET' ? context.path : undefined;
    responses.sendPage(context, { ...view, status, path });
  };
  if (error instanceof PageError) {
    show(error.kind, pageErrorStatuses[error.kind]);
    return;
  }
  const problemError = toProblemError(error);
  if (problemError === undefined) {
    const { operationId } = (request as PageRequest).routeOptions.config.facts ?? {};
    request.log.error({ err: error, operationId }, 'unexpected error on a sign-in page');
    show('serverError', 500);
    return;
  }
  request.problemError = problemError;
  const retryAfter = retryAfterHeader(problemError);
  if (retryAfter !== undefined) reply.header('retry-after', retryAfter);
  const { status } = errorCodes[problemError.code];
  show(errorKindOfStatus(status), status);
}
