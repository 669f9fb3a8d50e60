// Registers the routes of the portal: pages for users, and two endpoints for the page scripts.
import {
  defined,
  errorCodes,
  PortalSession,
  PortalSignedOut,
  ProblemError,
} from '@switchyard/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import {
  type BuiltFolder,
  type Caller,
  cacheForever,
  cacheOneHour,
  pageHeaders,
  retryAfterHeader,
  route,
  toProblemError,
} from '../http/index.ts';
import {
  type PortalSite,
  type PortalUrls,
  portalCallbackPath,
  portalPath,
  providerPortalPath,
} from '../identity/index.ts';
import type { Ids } from '../platform/index.ts';
import { sendMessagePage } from './pages/message-page.ts';
import type { SessionCaller } from './sessions/session-caller.ts';
import type { BuildSessionView } from './sessions/session-view.ts';
import type { PortalSession as Session } from './sessions/sessions.ts';
import { type createSignIn, signInPath } from './sign-in/sign-in.ts';

type Deps = {
  readonly portalUrls: PortalUrls;
  readonly built: BuiltFolder;
  readonly signIn: ReturnType<typeof createSignIn>;
  readonly callers: SessionCaller;
  readonly show: BuildSessionView;
  readonly ids: Ids;
  /** True while a process builds the portal. */
  isBuilding(): boolean;
  /** True if the user domain in the host name exists. */
  isClient(userDomainId: string): Promise<boolean>;
};

const nonceBytes = 16;

const common = {
  tags: ['Portal'],
  isHidden: true,
  response: { 200: Type.Unknown() },
  errors: [],
} as const;
const page = {
  ...common,
  method: 'GET',
  permission: 'public',
  rateLimit: 'pages',
  produces: ['text/html', 'image/svg+xml', 'image/png'],
} as const;

const optionalText = (most: number) => Type.Optional(Type.String({ maxLength: most }));
const signInQuery = Type.Object({
  to: optionalText(2048),
  domain: optionalText(64),
  login_hint: optionalText(256),
});
const callbackQuery = Type.Object({
  code: optionalText(512),
  state: optionalText(8192),
  error: optionalText(128),
  iss: optionalText(512),
});

/** True if a user opens a page; a script request gets a file or an error instead. */
function isNavigation({ headers }: FastifyRequest): boolean {
  const mode = headers['sec-fetch-mode'];
  if (mode !== undefined) return mode === 'navigate';
  return (headers.accept ?? '').includes('text/html');
}

function sendErrorPage(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const problemError = toProblemError(error);
  if (problemError === undefined) {
    request.log.error({ err: error }, 'unexpected error');
    sendMessagePage(request, reply, 'broken');
    return;
  }
  request.problemError = problemError;
  const retryAfter = retryAfterHeader(problemError);
  const isBusy = [429, 503].includes(errorCodes[problemError.code].status);
  sendMessagePage(request, reply, isBusy ? 'busy' : 'stale', defined({ retryAfter }));
}

type SiteHandler = (
  request: FastifyRequest,
  reply: FastifyReply,
  site: PortalSite,
) => Promise<FastifyReply>;

/** On a host without a portal, the response shows the address of the portal. */
function onPortalHost({ portalUrls, isClient }: Deps, handle: SiteHandler) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const site = portalUrls.findSite(request.host);
    if (site === undefined) {
      const address = portalUrls.origin + portalPath;
      return sendMessagePage(request, reply, 'elsewhere', { link: { address, text: address } });
    }
    const { userDomainId } = site;
    if (userDomainId !== undefined && !(await isClient(userDomainId))) {
      return sendMessagePage(request, reply, 'unknownClient');
    }
    return handle(request, reply, site);
  };
}

const problemSent = { 'cache-control': 'no-store' };

/** Sends a file that is beside the page, or status 404. */
async function sendPublicFile(
  name: string,
  { built }: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  reply.headers(assetHeaders);
  if (!name.includes('/') && (await built.send(name, cacheOneHour, request, reply))) return reply;
  return reply.code(404).headers(problemSent).type('text/plain').send('Not found.\n');
}

/** The placeholder of the build: each response gets its own nonce here. */
const noncePlaceholder = '__CSP_NONCE__';

/** Puts the nonce into the page; splits the page once for each build. */
function createPageRenderer(): (content: Buffer, nonce: string) => string {
  let last: { readonly content: Buffer; readonly parts: readonly string[] } | undefined;
  return (content, nonce) => {
    if (last?.content !== content) {
      last = { content, parts: content.toString().split(noncePlaceholder) };
    }
    return last.parts.join(nonce);
  };
}

function registerPages(app: FastifyInstance, deps: Deps): void {
  const { built, ids } = deps;
  const pageOf = createPageRenderer();
  const serve = onPortalHost(deps, async (request, reply) => {
    const { '*': name } = request.params as { '*'?: string };
    // The address of the portal itself names no file, so a health check gets the page too.
    if (name !== undefined && !isNavigation(request))
      return sendPublicFile(name, deps, request, reply);
    const nonce = ids.secret(nonceBytes);
    const content = await built.index();
    if (content === undefined) {
      return sendMessagePage(request, reply, deps.isBuilding() ? 'building' : 'absent');
    }
    return reply
      .headers(documentHeaders(nonce))
      .type('text/html; charset=utf-8')
      .send(pageOf(content, nonce));
  });
  for (const [name, path] of [
    ['Portal', portalPath],
    ['ProviderPortal', providerPortalPath],
  ] as const) {
    route(app, {
      ...page,
      url: path,
      operationId: `get${name}`,
      summary: 'Get the portal page',
      handler: serve,
    });
    route(app, {
      ...page,
      url: `${path}/*`,
      operationId: `get${name}Page`,
      summary: 'Get a page of the portal',
      params: Type.Object({ '*': Type.String() }),
      handler: serve,
    });
  }
}

function registerSignIn(app: FastifyInstance, deps: Deps): void {
  const { signIn } = deps;
  route(app, {
    ...page,
    url: signInPath,
    operationId: 'beginPortalSignIn',
    summary: 'Start the sign-in to the portal',
    query: signInQuery,
    handler: (request, reply) =>
      onPortalHost(deps, (_request, _reply, site) =>
        signIn.begin(request, reply, site, request.query),
      )(request, reply),
  });
  route(app, {
    ...page,
    url: portalCallbackPath,
    operationId: 'endPortalSignIn',
    summary: 'Complete the sign-in to the portal',
    query: callbackQuery,
    handler: (request, reply) =>
      onPortalHost(deps, (_request, _reply, site) =>
        signIn.callback(request, reply, site, request.query),
      )(request, reply),
  });
}

type PortalRequest = { readonly caller: Caller; readonly session: Session };

/**
 * These routes need a portal session. They are public for the token check, because a token alone is
 * no session.
 */
async function requirePortalSession(
  { callers }: Deps,
  request: FastifyRequest,
): Promise<PortalRequest> {
  const caller = await callers.findCaller(request);
  const session = callers.sessionOf(request);
  if (caller === undefined || session === undefined) {
    throw new ProblemError(
      'token_missing',
      'The request has no portal session. Sign in to the portal.',
    );
  }
  request.caller = caller;
  return { caller, session };
}

function registerSession(app: FastifyInstance, deps: Deps): void {
  const sessionRoute = { ...common, permission: 'public' } as const;
  route(app, {
    ...sessionRoute,
    method: 'GET',
    url: `${portalPath}/session`,
    operationId: 'getPortalSession',
    summary: 'Get the portal session',
    response: { 200: PortalSession },
    async handler(request, reply) {
      const { session, caller } = await requirePortalSession(deps, request);
      reply.header('cache-control', 'no-store');
      return deps.show(session, caller);
    },
  });
  route(app, {
    ...sessionRoute,
    method: 'POST',
    url: `${portalPath}/sign-out`,
    operationId: 'signOutOfPortal',
    summary: 'Sign out of the portal',
    response: { 200: PortalSignedOut },
    async handler(request, reply) {
      const { session } = await requirePortalSession(deps, request);
      reply.header('cache-control', 'no-store');
      return deps.signIn.out(request, reply, session);
    },
  });
}

function registerAssets(app: FastifyInstance, { built }: Deps): void {
  route(app, {
    ...common,
    method: 'GET',
    url: `${portalPath}/assets/:name`,
    permission: 'public',
    operationId: 'getPortalAsset',
    summary: 'Get a file of the portal',
    produces: ['text/javascript', 'text/css', 'image/svg+xml', 'image/png', 'font/woff2'],
    params: Type.Object({ name: Type.String() }),
    async handler(request, reply) {
      reply.headers(assetHeaders);
      const path = `assets/${request.params.name}`;
      if (await built.send(path, cacheForever, request, reply)) return reply;
      throw new ProblemError('resource_not_found', 'No file has this name.');
    },
  });
}

export function registerPortalRoutes(app: FastifyInstance, deps: Deps): void {
  app.register((scope, _options, done) => {
    scope.setErrorHandler((error, request, reply) => sendErrorPage(error, request, reply));
    registerSignIn(scope, deps);
    registerPages(scope, deps);
    done();
  });
  registerSession(app, deps);
  registerAssets(app, deps);
}

/** Styles that scripts add need the nonce; the build puts the nonce where the scripts read it. */
function policyOf(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "connect-src 'self'",
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "manifest-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
  ].join('; ');
}

function documentHeaders(nonce: string): Record<string, string> {
  return {
    ...pageHeaders,
    'content-security-policy': policyOf(nonce),
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    'cache-control': 'no-store',
  };
}

const assetHeaders: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
};
