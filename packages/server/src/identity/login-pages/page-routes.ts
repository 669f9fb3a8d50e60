// Declares the pages: forms of at most 16 KB from our own pages alone, and faults as pages too.
import { errorCodes } from '@switchyard/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { formLimitBytes, readForms, refusalOf, retryAfterOf, route } from '../../http/index.ts';
import { assetFolder, type PageAssets } from './html/page-assets.ts';
import { type FaultKind, faultKinds, PageFault } from './html/page-errors.ts';
import { forgottenPath } from './html/page-paths.ts';
import type { PageRequest, Visit, Visits } from './requests/page-context.ts';
import type { Answers } from './requests/page-response.ts';
import { faultView, type Way } from './views/messages.ts';

export type PageHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

export type PageRoute = {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  /** What it is for: in the document of the pages, and the name of its faults in the log. */
  readonly summary: string;
  readonly operationId: string;
  /** Left out: 'pages'. */
  readonly rateLimit?: string;
  readonly handler: PageHandler;
};

type Deps = {
  readonly visits: Visits;
  readonly answers: Answers;
  readonly assets: PageAssets;
};

/** Known names are texts, once each; what else stands in an address is nobody's business. */
const query = Type.Object({
  lang: Type.Optional(Type.String()),
  with: Type.Optional(Type.String()),
  login_hint: Type.Optional(Type.String()),
  flow: Type.Optional(Type.String()),
  saved: Type.Optional(Type.String()),
  v: Type.Optional(Type.String()),
});
const body = Type.Record(Type.String(), Type.String());

function paramsOf(url: string): TSchema {
  const names = [...url.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  return Type.Object(Object.fromEntries(names.map((name) => [name, Type.String()])));
}

export function registerPageRoutes(
  app: FastifyInstance,
  routes: readonly PageRoute[],
  deps: Deps,
): void {
  app.register((scope, _options, done) => {
    readForms(scope);
    // Before a body is read: what another site sends is not looked at.
    scope.addHook('preParsing', async (request) => {
      if (request.method === 'POST') deps.visits.demandOwnSite(request);
    });
    scope.setErrorHandler((error, request, reply) => showFault(deps, error, request, reply));
    for (const each of routes) declare(scope, each);
    done();
  });
}

export function registerAssets(app: FastifyInstance, deps: Deps): void {
  app.register((scope, _options, done) => {
    scope.setErrorHandler((error, request, reply) => showFault(deps, error, request, reply));
    declareAssets(scope, deps.assets);
    done();
  });
}

function declare(scope: FastifyInstance, page: PageRoute): void {
  const { method, url, handler, rateLimit = 'pages', ...told } = page;
  route(scope, {
    ...told,
    method,
    url,
    query,
    params: paramsOf(url),
    tags: ['Sign-in pages'],
    permission: 'public',
    rateLimit,
    isHidden: true,
    produces: ['text/html'],
    response: { 200: Type.Unknown() },
    errors: [],
    ...(method === 'POST' ? { body, readsForm: true, bodyLimitBytes: formLimitBytes } : {}),
    handler: (request, reply) => handler(request, reply),
  });
}

function declareAssets(scope: FastifyInstance, assets: PageAssets): void {
  route(scope, {
    method: 'GET',
    url: `${assetFolder}/:name`,
    operationId: 'getSignInAsset',
    summary: 'A file of the sign-in pages',
    query,
    params: Type.Object({ name: Type.String() }),
    tags: ['Sign-in pages'],
    permission: 'public',
    isHidden: true,
    produces: ['text/css', 'text/javascript', 'image/svg+xml'],
    response: { 200: Type.Unknown() },
    errors: [],
    async handler(request, reply) {
      const asset = assets.find(request.params.name, request.query.v);
      if (asset === undefined) throw new PageFault('missing');
      return asset.send(request, reply);
    },
  });
}

function kindOf(status: number): FaultKind {
  if (status === 429 || status === 503) return 'busy';
  if (status === 404) return 'missing';
  return status < 500 ? 'request' : 'broken';
}

/** Where somebody who stands before a fault may go. */
function wayOn(kind: FaultKind, { words, path, request }: Visit): Way | undefined {
  const { realm } = request.params;
  if (kind === 'link' && realm !== undefined) {
    return { address: forgottenPath(realm), text: words.faults.newLink };
  }
  return kind === 'form' ? { address: path, text: words.faults.reopen } : undefined;
}

function showFault(
  { visits, answers }: Deps,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const visit = visits.open(request, reply);
  const show = (kind: FaultKind, status: number) => {
    const view = faultView(visit.words, kind, request.id, { way: wayOn(kind, visit) });
    // A page that came by a form may have no other face; the way back is the browser's.
    const path = request.method === 'GET' ? visit.path : undefined;
    answers.page(visit, { ...view, status, path });
  };
  if (error instanceof PageFault) {
    show(error.kind, faultKinds[error.kind].status);
    return;
  }
  const refusal = refusalOf(error);
  if (refusal === undefined) {
    const { operationId } = (request as PageRequest).routeOptions.config.facts ?? {};
    request.log.error({ err: error, operationId }, 'unexpected fault');
    show('broken', 500);
    return;
  }
  request.refusal = refusal;
  const retryAfter = retryAfterOf(refusal);
  if (retryAfter !== undefined) reply.header('retry-after', retryAfter);
  const { status } = errorCodes[refusal.code];
  show(kindOf(status), status);
}
