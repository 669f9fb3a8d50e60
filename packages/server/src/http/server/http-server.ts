// The HTTP server: one Fastify instance over TLS with the checks that apply to every route.
import type { AddressInfo } from 'node:net';
import { defined, ProblemError } from '@switchyard/contract';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import serverPackage from '../../../package.json' with { type: 'json' };
import {
  type ChangeNotifier,
  type Clock,
  createChangeNotifier,
  type Ids,
  type Log,
  type Metrics,
  systemClock,
  type Tracer,
} from '../../platform/index.ts';
import { createAuthenticate, type FindSessionCaller } from '../authentication/authenticate.ts';
import type { VerifyToken } from '../authentication/caller.ts';
import {
  type CertificateReader,
  createCertificateReader,
} from '../authentication/client-certificates.ts';
import {
  createEventStreams,
  type EventStreams,
  type EventStreamsDeps,
} from '../event-streams/event-streams.ts';
import { createLoadShedding, type LoadLimits, type LoadShedding } from '../limits/load-shedding.ts';
import {
  type ConnectionTimeouts,
  createNewConnectionLimits,
  type NewConnectionLimits,
} from '../limits/new-connection-limits.ts';
import { createRateLimits, type RatePolicies } from '../limits/rate-limits.ts';
import { asyncApiOf, registerDocumentation } from '../openapi/documentation-routes.ts';
import { documentationFolder } from '../openapi/documentation-site.ts';
import { buildOpenApiDocument, type OpenApiOptions } from '../openapi/openapi-document.ts';
import { validateResponses } from '../openapi/response-validation.ts';
import { tagDescriptions } from '../openapi/tag-descriptions.ts';
import { createClientAddressReader } from '../requests/client-address.ts';
import { createRequestIdReader, requestIdHeader } from '../requests/request-id.ts';
import { createSchemaValidation } from '../requests/schema-validation.ts';
import { parseStrictJson } from '../requests/strict-json.ts';
import { createBuiltFolder } from '../responses/built-folder.ts';
import { createErrorHandler, createProblemSender } from '../responses/problem-responses.ts';
import { createActOnBehalf, type FindOrganization } from '../routes/act-on-behalf-of.ts';
import { deprecationHooks } from '../routes/deprecation.ts';
import { type IdempotencyKeys, withIdempotency } from '../routes/idempotency-key.ts';
import type { RouteDeclaration } from '../routes/route-declaration.ts';
import { createClientErrorHandler } from './client-error-handler.ts';
import {
  createDeviceListener,
  type DeviceListener,
  type DeviceListenerOptions,
} from './device-listener.ts';
import { createListener, type ListenerTls } from './listener.ts';
import { createNotFoundHandler, createRouteMap, type RouteMap } from './not-found-handler.ts';
import { createRequestDrain, type RequestDrain } from './request-drain.ts';
import { createLazyRequestLog, logAccess } from './request-logging.ts';
import { createRequestMetrics } from './request-metrics.ts';
import {
  bodyLimitBytes,
  createAuthorizationRecheck,
  createRequestChecks,
  type RequestChecksDeps,
  urlLimitChars,
} from './request-pipeline.ts';
import { createRequestTracing, endRequestSpan, traceLogMembers } from './request-tracing.ts';
import { type OnResponse, reportResponse } from './response-log-entry.ts';
import {
  createWebSocketUpgrades,
  type WebSocketRoute,
  type WebSocketUpgrades,
} from './websocket-upgrades.ts';

/** The settings of the HTTP server. */
export type HttpSettings = {
  readonly host: string;
  readonly port: number;
  readonly baseUrl: string;
  readonly authUrl: string;
  /** The base URL of the listener for devices; for the OpenAPI document. */
  readonly deviceAuthUrl?: string;
  /** How a session URL of the connector is authorized; for the AsyncAPI document. */
  readonly connectorSessionAuth?: 'url' | 'bearer';
  /** Addresses and ranges of the trusted proxies that terminate TLS. */
  readonly trustProxy?: readonly string[] | undefined;
  /** The maximum number of WebSockets besides HTTP connections. */
  readonly connectorConnections?: number;
  /** In `production` each response has HSTS; on localhost it would affect other local servers. */
  readonly environment?: string;
};

export type HttpDeps = {
  readonly settings: HttpSettings;
  /** Left out only behind a trusted proxy that terminates TLS. */
  readonly tls?: ListenerTls;
  readonly log: Log;
  readonly metrics?: Metrics;
  /** Left out: requests are not traced. */
  readonly tracer?: Tracer | undefined;
  readonly ids: Ids;
  readonly clock?: Clock;
  /** Notifies waiting clients of changes; left out, only changes of this process. */
  readonly live?: ChangeNotifier | undefined;
  readonly streams?: Pick<EventStreamsDeps, 'limits' | 'timings'>;
  readonly verifyToken: VerifyToken;
  /** Left out: every caller needs a token. */
  readonly findSessionCaller?: FindSessionCaller | undefined;
  /** Left out: no caller can act on behalf of another organisation. */
  readonly findOrganization?: FindOrganization;
  /** Left out: Idempotency-Key is ignored. */
  readonly idempotencyKeys?: IdempotencyKeys | undefined;
  /** Left out: no client certificate is accepted. */
  readonly certificates?: CertificateReader;
  /** The listener for devices; left out: none. */
  readonly deviceListener?: DeviceListenerOptions | undefined;
  /** Added to the default policies, or replacing them by name. */
  readonly rateLimits?: RatePolicies;
  readonly loadLimits?: LoadLimits;
  /** Timeouts that differ from the defaults. */
  readonly connectionTimeouts?: Partial<ConnectionTimeouts> | undefined;
  /** Descriptions of further tags in the OpenAPI document. */
  readonly tagDescriptions?: Readonly<Record<string, string>>;
  /** The user domain of the token URL in the OpenAPI document; left out, a placeholder. */
  readonly exampleUserDomain?: string | undefined;
  /** Compiles every schema before the server listens: slower, and reports invalid schemas at once. */
  readonly eagerSchemas?: boolean;
  /** The built documentation site; left out, that of this repository. */
  readonly documentationFolder?: string | undefined;
  /** Called at the end of each response to an authenticated caller; must return at once. */
  readonly onResponse?: OnResponse | undefined;
  /** For tests: a response that its route does not declare becomes an internal error. */
  readonly validatesResponses?: boolean;
};

/** A route that another library serves has no `facts`. */
export type RegisteredRoute = {
  readonly method: string;
  readonly url: string;
  readonly facts?: RouteDeclaration;
};

export type Http = {
  /** Modules register their routes on it before `listen`. */
  readonly app: FastifyInstance;
  /** All registered routes. */
  readonly routes: readonly RegisteredRoute[];
  readonly certificates: CertificateReader;
  /** Modules add their queues as sources of pressure. */
  readonly loadShedding: LoadShedding;
  /** For modules with event streams or long polls. */
  readonly streams: EventStreams;
  /** For modules with WebSockets. */
  readonly upgrades: Pick<WebSocketUpgrades, 'add' | 'drain'>;
  /** `devicePort` when the listener for devices exists. */
  listen(): Promise<{ host: string; port: number; devicePort?: number }>;
  /** Answers new requests with 503, waits for running requests, then closes every connection. */
  close(limitMs?: number): Promise<void>;
};

const apiInfo = {
  title: 'Switchyard',
  version: serverPackage.version,
  description:
    'An open payment platform for acquirers. Every error response is application/problem+json with a code of a closed list; a declined payment is not an error. Amounts are integers in minor units.',
} as const;

const sendsHsts = ({ environment }: HttpSettings) => environment === 'production';

const pathPartLimitChars = 256;
const closeLimitMs = 15_000;

export async function createHttp(deps: HttpDeps): Promise<Http> {
  const { settings, verifyToken, log, clock = systemClock } = deps;
  const drain = createRequestDrain();
  const { trustProxy: trustedProxy } = settings;
  const certificates = deps.certificates ?? createCertificateReader({ trustedProxy });
  const loadShedding = createLoadShedding({
    running: drain.running,
    ...defined({ limits: deps.loadLimits }),
  });
  const rateLimits = createRateLimits(deps.rateLimits);
  const upgrades = createWebSocketUpgrades({
    ids: deps.ids,
    log,
    baseUrl: settings.baseUrl,
    verifyToken,
    certificates,
    unauthenticatedByAddress: rateLimits.unauthenticatedByAddress,
    unknownSessionsByAddress: rateLimits.unknownSessionsByAddress,
    addressOf: createClientAddressReader(trustedProxy),
    sendsHsts: sendsHsts(settings),
  });
  const newConnections = createNewConnectionLimits({
    metrics: deps.metrics,
    timeouts: deps.connectionTimeouts,
  });
  const shared = { drain, upgrades, newConnections };
  const app = createApp(deps, shared);
  const routes = createRouteMap();
  const operations: RouteDeclaration[] = [];
  const registeredRoutes = recordRoutes(app);
  const deviceListener = deviceListenerOf(deps, app, shared);
  addCommonHooks(app, { drain, certificates, routes, deviceListener, baseUrl: settings.baseUrl });
  const access = {
    authenticate: createAuthenticate(
      verifyToken,
      certificates.presentedCertificate,
      deps.findSessionCaller,
    ),
    actOnBehalf: createActOnBehalf(deps.findOrganization ?? (async () => undefined)),
  };
  const streams = createEventStreams({
    log,
    clock,
    metrics: deps.metrics,
    ...deps.streams,
    live: deps.live ?? createChangeNotifier({ log }),
    authorize: createAuthorizationRecheck(access),
  });
  guardRoutes(app, operations, routes, {
    ...access,
    rateLimits,
    loadShedding,
    certificates,
    keys: deps.idempotencyKeys,
    tracer: deps.tracer,
  });
  app.setValidatorCompiler(createSchemaValidation({ eager: deps.eagerSchemas ?? false }).compile);
  if (deps.validatesResponses === true) validateResponses(app);
  observeRequests(app, deps, { running: drain.running, pressure: loadShedding.pressure });
  app.addHook('onClose', async () => loadShedding.stop());
  registerDocumentation(
    app,
    {
      openApi: () => buildOpenApiDocument(openApiOptions(deps), operations),
      asyncApi: asyncApiOf(settings, apiInfo.version),
    },
    createBuiltFolder(deps.documentationFolder ?? documentationFolder, clock, {
      servesPages: true,
    }),
  );

  return {
    app,
    routes: registeredRoutes,
    certificates,
    loadShedding,
    streams,
    upgrades: { add: (added) => addUpgrade(app, upgrades, added), drain: upgrades.drain },
    async listen() {
      await app.listen({
        host: settings.host,
        port: settings.port,
        listenTextResolver: (address) =>
          `listening at ${deps.tls === undefined ? address : address.replace(/^http:/, 'https:')}`,
      });
      const { address, port } = app.server.address() as AddressInfo;
      if (deviceListener === undefined) return { host: address, port };
      const { port: devicePort } = await deviceListener.listen();
      deps.log.info({ port: devicePort }, 'listening for devices with client certificates');
      return { host: address, port, devicePort };
    },
    async close(limitMs = closeLimitMs) {
      streams.stop();
      upgrades.drain();
      const unfinished = app.server.listening ? await drain.waitForRequests(limitMs) : 0;
      if (unfinished > 0)
        deps.log.warn({ left: unfinished }, 'the shutdown interrupted running requests');
      if (unfinished > 0) app.server.closeAllConnections();
      await deviceListener?.close();
      await app.close();
    },
  };
}

function openApiOptions(deps: HttpDeps): OpenApiOptions {
  const { settings, exampleUserDomain } = deps;
  const descriptions = { ...tagDescriptions, ...deps.tagDescriptions };
  const { baseUrl, authUrl, deviceAuthUrl } = settings;
  return {
    ...apiInfo,
    baseUrl,
    authUrl,
    deviceAuthUrl,
    exampleUserDomain,
    tagDescriptions: descriptions,
  };
}

/** Also answers plain HTTP requests to the path with 426. */
function addUpgrade(
  app: FastifyInstance,
  upgrades: WebSocketUpgrades,
  added: WebSocketRoute,
): void {
  upgrades.add(added);
  app.get(added.path, (_request, reply) => {
    reply.header('upgrade', 'websocket').header('connection', 'Upgrade');
    throw new ProblemError(
      'upgrade_required',
      'The path is a WebSocket; connect with a WebSocket client.',
    );
  });
}

type SharedParts = {
  readonly drain: RequestDrain;
  readonly upgrades: WebSocketUpgrades;
  readonly newConnections: NewConnectionLimits;
};

function createApp(
  { settings, tls, log, ids }: HttpDeps,
  { drain, upgrades, newConnections }: SharedParts,
): FastifyInstance {
  const loggerInstance: FastifyBaseLogger = log;
  const sendProblem = createProblemSender(settings.baseUrl);
  const handleError = createErrorHandler(sendProblem);
  const app = Fastify({
    serverFactory: (listener) =>
      createListener(drain.countRequests(listener), {
        tls,
        newConnections,
        isUpgrade: upgrades.isWebSocketRequest,
        webSockets: settings.connectorConnections ?? 0,
        sendsHsts: sendsHsts(settings),
      }),
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (_parent, { reqId }, options, raw) =>
      createLazyRequestLog(log, (span) =>
        log.child({ requestId: reqId, ...traceLogMembers(raw, span) }, options),
      ),
    genReqId: createRequestIdReader(ids.uuid),
    requestIdHeader: false,
    trustProxy: settings.trustProxy === undefined ? false : [...settings.trustProxy],
    bodyLimit: bodyLimitBytes,
    routerOptions: { maxParamLength: pathPartLimitChars },
    return503OnClosing: false,
    frameworkErrors: handleError,
    clientErrorHandler: createClientErrorHandler(settings.baseUrl, ids.uuid, sendsHsts(settings)),
  });
  // Further sockets of the same listener forward their requests to this server.
  upgrades.attach(app.server, false);
  return app;
}

function deviceListenerOf(
  { settings, deviceListener: options, ids }: HttpDeps,
  app: FastifyInstance,
  { drain, upgrades, newConnections }: SharedParts,
): DeviceListener | undefined {
  if (options === undefined) return undefined;
  return createDeviceListener({
    host: settings.host,
    options,
    handle: drain.countRequests((request, response) => app.routing(request, response)),
    onClientError: createClientErrorHandler(settings.baseUrl, ids.uuid, sendsHsts(settings)),
    upgrades,
    newConnections,
    webSockets: settings.connectorConnections ?? 0,
    sendsHsts: sendsHsts(settings),
  });
}

type CommonHookParts = {
  readonly drain: RequestDrain;
  readonly certificates: CertificateReader;
  readonly routes: RouteMap;
  readonly deviceListener: DeviceListener | undefined;
  readonly baseUrl: string;
};

/** The hooks and handlers of every request, also without a declared route. */
function addCommonHooks(
  app: FastifyInstance,
  { drain, certificates, routes, deviceListener, baseUrl }: CommonHookParts,
) {
  const sendProblem = createProblemSender(baseUrl);
  app.decorateRequest('caller', undefined);
  app.decorateRequest('problemError', undefined);
  app.decorateRequest('isHandled', false);
  app.decorateRequest('isStreamed', false);
  app.decorateRequest('span', undefined);
  app.addHook('onRequest', (request, reply, done) => {
    reply.header(requestIdHeader, request.id);
    certificates.removeUntrustedHeader(request);
    try {
      drain.rejectWhileDraining(reply.raw);
      deviceListener?.check(request);
      if (request.url.length > urlLimitChars) {
        throw new ProblemError(
          'uri_too_long',
          `The URL is longer than ${urlLimitChars} characters.`,
        );
      }
      done();
    } catch (error) {
      done(error as ProblemError);
    }
  });
  app.setErrorHandler(createErrorHandler(sendProblem));
  app.setNotFoundHandler(createNotFoundHandler(routes, sendProblem));
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const isOmitted = body.length === 0 && request.routeOptions.config.facts?.bodyOptional === true;
    try {
      done(null, isOmitted ? undefined : parseStrictJson(body as Buffer));
    } catch (error) {
      done(error as ProblemError);
    }
  });
}

function observeRequests(
  app: FastifyInstance,
  { metrics, onResponse }: Pick<HttpDeps, 'metrics' | 'onResponse'>,
  load: { running(): number; pressure(): number },
): void {
  const requestMetrics = metrics === undefined ? undefined : createRequestMetrics(metrics, load);
  app.addHook('onResponse', (request, reply, done) => {
    requestMetrics?.observe(request, reply);
    logAccess(request, reply);
    if (request.span !== undefined) endRequestSpan(request.span, request, reply);
    if (onResponse !== undefined) reportResponse(onResponse, request, reply);
    done();
  });
}

/** Fastify adds HEAD to every GET, which is the same route. */
function recordRoutes(app: FastifyInstance): readonly RegisteredRoute[] {
  const registered: RegisteredRoute[] = [];
  app.addHook('onRoute', ({ method, url, config }) => {
    const facts = config?.facts;
    for (const name of [method].flat()) {
      if (facts !== undefined && name !== facts.method) continue;
      registered.push({ method: name, url, ...defined({ facts }) });
    }
  });
  return registered;
}

/** Adds the request checks to every declared route, and collects the declarations for the OpenAPI document. */
function guardRoutes(
  app: FastifyInstance,
  operations: RouteDeclaration[],
  routes: RouteMap,
  {
    keys,
    tracer,
    ...deps
  }: RequestChecksDeps & Pick<HttpDeps, 'tracer'> & { readonly keys: IdempotencyKeys | undefined },
): void {
  app.addHook('onRoute', (options) => {
    routes.add(options.method, options.url);
    const { facts, describedRoutes } = options.config ?? {};
    const methods = [options.method].flat();
    for (const described of [describedRoutes ?? []].flat()) {
      if (methods.includes(described.method)) operations.push({ ...described, url: options.url });
    }
    if (facts === undefined) return;
    if (options.method === facts.method) operations.push({ ...facts, url: options.url });
    const deprecation = deprecationHooks(facts.deprecated);
    options.onRequest = [
      ...deprecation,
      createRequestChecks(facts, deps),
      ...(tracer === undefined ? [] : [createRequestTracing(facts, tracer)]),
      ...[options.onRequest ?? []].flat(),
    ];
    if (facts.takesIdempotencyKey === true && keys !== undefined) {
      options.handler = withIdempotency(facts, options.handler, keys);
    }
    if (facts.bodyOptional !== true) return;
    options.preValidation = (request, _reply, done) => {
      // A sent `null` stays and fails the schema.
      if (request.body === undefined) request.body = {};
      done();
    };
  });
}
